package target

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/lifecycle"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// source is what a target was loaded from.
type source struct {
	options config.LoadOptions
	stamp   config.Stamp
	at      time.Time
	again   func() (*Target, error) // loads and resolves it again
}

// take notes the files that are about to be read.
func (s *source) take(o config.LoadOptions) {
	s.options, s.stamp, s.at = o, o.Stamp(), time.Now()
}

// Followed is the target of a running session, which follows its configuration. New processes
// of a stateless server get the policy of now. The jail of a stateful one stays as it is.
type Followed struct {
	now     atomic.Pointer[Target] // by the last configuration that could be used
	prepare func(*Target) error    // makes a new target ready to be started

	mu      sync.Mutex
	stamp   config.Stamp
	problem string    // of the configuration as it is now; "" if it can be used
	old     []*Target // to be closed
}

// Follow returns the followed target of a session that begins with t.
func (t *Target) Follow(c terminal.Console) *Followed {
	f := &Followed{stamp: t.source.stamp, prepare: func(t *Target) error { return t.PreparePackage(c) }}
	f.now.Store(t)
	return f
}

// Target returns the target of the processes that start now.
func (f *Followed) Target() *Target { return f.now.Load() }

// Close releases what the targets hold.
func (f *Followed) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, t := range append(f.old, f.Target()) {
		t.Close()
	}
	f.old = nil
}

// Refresh reads the configuration again if one of its files has changed. It is the Refresh of the
// session.
func (f *Followed) Refresh() lifecycle.Refreshed {
	f.mu.Lock()
	defer f.mu.Unlock()
	file, at, changed := f.stamp.Changed()
	if !changed {
		return lifecycle.Refreshed{Problem: f.problem}
	}
	before := f.Target()
	f.stamp = before.source.options.Stamp()
	after, err := before.source.again()
	if err == nil && before.Policy.Stateful != after.Policy.Stateful {
		err = fmt.Errorf("stateful = %v holds from the next session on", after.Policy.Stateful)
	}
	if err == nil && !before.Policy.Stateful {
		err = f.prepare(after)
	}
	server := policy.QuoteTOML(before.Policy.Server)
	if f.problem = ""; err != nil {
		if after != nil {
			after.Close()
		}
		f.problem = fmt.Sprintf("warning: %s: server %s goes on with the configuration of %s", oneLine(err), server, before.source.at.Format(time.TimeOnly))
		return lifecycle.Refreshed{Problem: f.problem}
	}
	same := before.digest() == after.digest()
	if before.Policy.Stateful {
		after.Close()
		if same {
			return lifecycle.Refreshed{}
		}
		return lifecycle.Refreshed{Notice: fmt.Sprintf("warning: %s has changed (%s), and server %s keeps the policy that it started with: restart it to give it the new one", file, at.Format(time.TimeOnly), server)}
	}
	f.old = append(f.old, before)
	f.now.Store(after)
	if same {
		return lifecycle.Refreshed{}
	}
	return lifecycle.Refreshed{Changed: true, Notice: fmt.Sprintf("%s has changed (%s): calls of server %s are under its new policy now", file, at.Format(time.TimeOnly), server)}
}

// digest returns an identifier of the policies of all processes of a target.
func (t *Target) digest() string {
	all := []*policy.Policy{t.Policy}
	if t.Config != nil && !t.Policy.Stateful {
		for _, name := range append(t.Config.ToolsWithTable(t.Policy.Server), config.AnyTool) {
			if p, err := t.PolicyOf(name); err == nil {
				all = append(all, p)
			}
		}
	}
	return config.Digest(all)
}

// oneLine returns the first line of an error, and how many more problems there are.
func oneLine(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n")
	var problems policy.Problems
	if errors.As(err, &problems) && len(problems) > 1 {
		text += fmt.Sprintf(" (and %d more: mcp-jail check)", len(problems)-1)
	}
	return terminal.Printable(text)
}
