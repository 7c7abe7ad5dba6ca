package session

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcp-jail/mcp-jail/cmd/internal/records"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/diagnostics/change"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/lifecycle"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// source says where a target was loaded from.
type source struct {
	options config.LoadOptions
	stamp   config.Stamp
	at      time.Time                                                   // for people
	again   func() (*Target, error)                                     // loads and resolves it again
	with    func(tool string, file *config.ServerFile) (*Target, error) // loads it as if the user had written a file
}

// take takes what a target is loaded from. No session follows one of many targets, which have their servers in common.
func (t *Target) take(o config.LoadOptions) {
	o.Workspace = cmp.Or(o.Workspace, t.Host.Dir)
	if t.source.at = time.Now(); o.Servers == nil {
		t.source.stamp = o.Stamp()
		o.Servers = config.ReadServers(t.Host.ConfigDir)
	}
	t.source.options = o
}

// Followed is the target of a running session, which follows its configuration. New processes get the policy of the newest
// configuration that can be used. A stateful server is started again for it if the user wants that, and keeps its policy
// until then.
type Followed struct {
	Log *Log // of the session; without another one, nothing is written down

	now     atomic.Pointer[Target]          // of the newest configuration that can be used, and is wanted
	prepare func(*Target) error             // makes a new target ready to be started
	keeping keeping                         // keeps the files that the server changes
	tools   atomic.Pointer[policy.Switches] // of the newest configuration that can be read

	mu      sync.Mutex
	stamp   config.Stamp
	problem string    // of the configuration as it is now; "" if it can be used
	told    time.Time // when the wish that was seen was written: see records.Told
	wish    records.Wish
	waits   bool      // the wish waits for a configuration that can be used
	all     []*Target // to be closed

	swap  sync.Mutex        // held for a moment only, also while mu is
	runs  *Target           // of the process of a stateful server
	kept  *diagnostics.Kept // how the configuration differs from that; nil: it does not
	stale bool              // kept was found for the process before
}

// Follow returns the followed target of a session that begins with t.
func (t *Target) Follow(c terminal.Console) *Followed {
	f := &Followed{Log: NewLog(nil), stamp: t.source.stamp, runs: t, all: []*Target{t}, prepare: func(t *Target) error { return Prepare(t, c) }}
	t.noteWrites()
	f.now.Store(t)
	f.tools.Store(&t.Policy.Tools)
	if f.wish = records.LastWish(t.Host, t.Policy.KeptName()); f.wish.ID != "" && f.wish.Runs == t.Written() && f.wish.Files != t.Written() { // it came since t was loaded
		f.wish = records.Wish{}
	}
	f.keeping = keeping{Store: UndoStore(t.Host, t.Policy.KeptName()), Server: t.Policy.KeptName(), Name: t.Policy.Server, Stateful: t.Policy.Stateful, Console: c}
	return f
}

// target returns the target of the processes that start now.
func (f *Followed) target() *Target { return f.now.Load() }

// running returns the target of the process of a stateful server. That of a stateless one is target.
func (f *Followed) running() *Target {
	f.swap.Lock()
	defer f.swap.Unlock()
	if f.runs.Policy.Stateful {
		return f.runs
	}
	return f.target()
}

// differs returns how the configuration differs from what the process of a stateful server has, or nil. stale: it was found
// for the process before.
func (f *Followed) differs() (kept *diagnostics.Kept, stale bool) {
	f.swap.Lock()
	defer f.swap.Unlock()
	return f.kept, f.stale
}

// Close releases the targets, and ends the keeping of changes. It removes the oldest kept
// sessions if they are too old or take too much room.
func (f *Followed) Close() {
	f.keeping.End()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, t := range f.all {
		t.Close()
	}
	f.all = nil
}

// EndTrial ends the keeping of changes of a session that is only a trial of a server. Unlike
// Close, it removes nothing of other sessions, and leaves the targets open.
func (f *Followed) EndTrial() { f.keeping.Close() }

// wished reports whether the user wants since the last look that the server be started again.
func (f *Followed) wished() bool {
	t := f.target()
	if !t.Policy.Stateful {
		return false
	}
	told := records.Told(t.Host, t.Policy.KeptName())
	if told.Equal(f.told) {
		return false
	}
	wish := records.LastWish(t.Host, t.Policy.KeptName())
	if wish.ID == "" && !told.IsZero() { // it could not be read now
		return false
	}
	f.told = told
	is := wish.ID != "" && wish != f.wish
	f.wish = wish
	return is
}

// Refresh reads the configuration again if one of its files has changed, or if the user wants a stateful server to be
// started again. It is the Refresh of the session.
func (f *Followed) Refresh() lifecycle.Refreshed {
	f.mu.Lock()
	defer f.mu.Unlock()
	before := f.tools.Load()
	r := f.refresh()
	r.Tools = f.tools.Load() != before
	return r
}

// refresh is Refresh. The caller holds mu.
func (f *Followed) refresh() lifecycle.Refreshed {
	file, at, changed := f.stamp.Changed()
	wished := f.wished()
	if kept, stale := f.differs(); !changed && !wished && !stale {
		return lifecycle.Refreshed{Problem: f.problem, Kept: kept}
	}
	before := f.running()
	stateful := before.Policy.Stateful
	// The file may still be written, piece by piece. Who changes it may say then that it is wanted.
	f.stamp = settled(before.source.options)
	wished = f.wished() || wished || f.waits
	after, err := before.source.again()
	if err == nil && !slices.Equal(*f.tools.Load(), after.Policy.Tools) {
		f.tools.Store(&after.Policy.Tools) // mcp-jail enforces them, so the process can stay
	}
	unseen := ""
	if err == nil && wished {
		if unseen = f.unseen(before.made(after), before.Policy.Server); unseen != "" {
			wished, f.waits = false, false
		}
	}
	if err == nil && (wished || !stateful) {
		if err = before.canBecome(after); err == nil {
			err = f.prepare(after)
		}
	}
	if !changed {
		at = time.Now()
	}
	server := show.TOML(before.Policy.Server)
	f.swap.Lock()
	defer f.swap.Unlock()
	f.stale = f.stale && err != nil
	if stateful {
		before = f.runs // it may have been started again meanwhile
	}
	if f.problem, f.waits = "", wished && err != nil; err != nil {
		found := lifecycle.Refreshed{Kept: f.kept}
		if after != nil {
			after.Close()
		}
		found.Problem = fmt.Sprintf("warning: %s: server %s goes on with the configuration of %s%s", terminal.OneLine(err), server, before.source.at.Format(time.TimeOnly), diagnostics.PageReload.Reference())
		f.problem = found.Problem
		if wished {
			f.kept = &diagnostics.Kept{Since: at, Why: terminal.OneLine(err), Made: diagnostics.Made{Runs: before.Written()}}
			found.Kept, found.Restart = f.kept, &diagnostics.Restart{Wish: f.wish.ID, Why: terminal.OneLine(err)}
		}
		return found
	}
	same := before.digest() == after.digest()
	if same && stateful {
		before.written = after.Written() // the process is made from these files as well
	}
	if !changed && f.kept != nil {
		at = f.kept.Since
	}
	if f.kept = nil; stateful && !same {
		f.kept = &diagnostics.Kept{Since: at, Rows: change.Table(change.Rows(before.Profile, after.Profile), before.short), Why: unseen, Made: before.made(after)}
	}
	found := lifecycle.Refreshed{Kept: f.kept}
	if unseen != "" {
		found.Restart = &diagnostics.Restart{Wish: f.wish.ID, Why: unseen, Failed: true}
	}
	switch {
	case wished:
		found.Next = f.next(after, f.kept)
		found.Next.Wish = f.wish.ID
		return found
	case same || stateful && !changed:
		after.Close()
		return found
	case stateful:
		after.Close()
		found.Notice = fmt.Sprintf("warning: %s has changed (%s), and server %s keeps the policy that it started with until it is started again%s", file, at.Format(time.TimeOnly), server, diagnostics.PageReload.Reference())
		return found
	}
	// Processes that started under the old policy may still need what it holds.
	f.take(after)
	f.Log.restarted(after)
	return lifecycle.Refreshed{Changed: true, Notice: fmt.Sprintf("%s has changed (%s): calls of server %s are under its new policy now", file, at.Format(time.TimeOnly), server)}
}

// unseen returns why a wish has no effect: it is for a change that the user was not shown.
func (f *Followed) unseen(is diagnostics.Made, server string) string {
	again := ". See what differs: " + show.Typed("mcp-jail grant", server)
	switch {
	case is.Runs != f.wish.Runs:
		return "it runs under another policy than was shown" + again
	case is.Files != f.wish.Files:
		return "its files have changed since they were shown" + again
	}
	return ""
}

// made returns what the process of t is made from, and what the files say of which a target was loaded.
func (t *Target) made(files *Target) diagnostics.Made {
	return diagnostics.Made{Runs: t.Written(), Files: files.Written()}
}

// Written identifies what the user has written of the server: its table, and the defaults. The words of a server with an id
// are always those of its file.
func (t *Target) Written() string {
	if t.written != "" {
		return t.written
	}
	defaults, table := t.commandLine.Defaults, config.Server{}
	switch {
	case t.Config != nil:
		defaults, table = t.Config.Defaults, *t.Config.Servers[t.Policy.Server]
	case t.commandLine.File != nil:
		table = *t.commandLine.File.Server
	}
	if table.ID != "" || t.Config == nil {
		table.Name, table.ID, table.Command, table.Arguments = "", "", "", nil
	}
	return config.Digest([]any{defaults, table})
}

// take has the processes that start from now on be of a target. The caller holds mu.
func (f *Followed) take(t *Target) {
	f.all = append(f.all, t)
	t.noteWrites()
	f.now.Store(t)
}

// next takes a target for which a stateful server is to be started again. If that fails, the one of the process counts
// again. kept is what it settles. The caller holds mu.
func (f *Followed) next(t *Target, kept *diagnostics.Kept) *lifecycle.Next {
	f.take(t)
	next := &lifecycle.Next{Profile: t.Profile, Unset: t.Policy.Unset(t.Profile), Done: func(took bool) {
		f.swap.Lock() // Refresh may have mu for a second
		defer f.swap.Unlock()
		switch {
		case !took && f.target() == t:
			f.now.Store(f.runs)
		case took:
			f.Log.restarted(t)
			if f.runs = t; f.kept == kept {
				f.kept = nil
			}
			f.stale = f.kept != nil
		}
	}}
	next.Kept.Since = time.Now()
	if kept != nil {
		next.Kept = *kept
	}
	return next
}

// short returns a path for people.
func (t *Target) short(path string) string {
	if rest, below := strings.CutPrefix(path, ResolveLinks(t.Host.Home)+"/"); below {
		path = "~/" + rest
	}
	return show.Line(path)
}

// settlePause is how long the files must not change before they are read: an editor may write
// them piece by piece.
const settlePause = 100 * time.Millisecond

// settled waits until the files have not changed for settlePause, but about a second at most. It
// returns their stamp.
func settled(o config.LoadOptions) config.Stamp {
	for range 10 {
		s := o.Stamp()
		if s.Age() >= settlePause {
			return s
		}
		time.Sleep(settlePause)
	}
	return o.Stamp()
}

// canBecome returns an error if the calls of a session that began with t cannot have the policy
// of after.
func (t *Target) canBecome(after *Target) error {
	const next = " holds from the next session on"
	switch was, is := t.Package.Entry(), after.Package.Entry(); {
	case after.Policy.Stateful != t.Policy.Stateful:
		return fmt.Errorf("stateful = %v"+next, after.Policy.Stateful)
	case after.Package.needsInstall():
		return fmt.Errorf("%s: mcp-jail install %s", after.Package.notInstalled(), after.Asked())
	case t.Policy.Packages.PinTools != after.Policy.Packages.PinTools:
		return errors.New("pin_tools = " + show.TOML(after.Policy.Packages.PinTools) + next)
	case t.Policy.Leaks != after.Policy.Leaks, t.Policy.LeakPatterns != after.Policy.LeakPatterns:
		return fmt.Errorf("leaks = %q, leak_patterns = %v"+next, after.Policy.Leaks, after.Policy.LeakPatterns)
	case (was == nil) != (is == nil), was != nil && (was.Name != is.Name || was.Version != is.Version):
		return errors.New("another package" + next)
	}
	return nil
}

func (t *Target) digest() string {
	all := []*policy.Policy{enforced(t.Policy)}
	if t.Config != nil && !t.Policy.Stateful {
		for _, name := range append(t.Config.ToolsWithTable(t.Policy.Server), config.AnyTool) {
			if p, err := t.PolicyOf(name); err == nil {
				all = append(all, enforced(p))
			}
		}
	}
	return config.Digest(all)
}

// enforced returns a policy without the parts that wait for the next session or concern no
// process.
func enforced(p *policy.Policy) *policy.Policy {
	out := *p
	out.Others, out.Noted, out.UnusedKeys, out.Settings, out.Log, out.Tools = nil, nil, nil, nil, false, nil
	return &out
}
