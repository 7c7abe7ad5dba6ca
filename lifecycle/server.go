package lifecycle

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/policy"
)

// instance is what concerns one process of a server, or several of which one
// follows the other.
type instance struct {
	client  *front
	Profile *policy.Profile

	pipes  *pipes
	procs  procs
	redact *diagnostics.Redactor
	tail   *diagnostics.Tail

	begun     atomic.Int64             // where its stderr was at the first call: see Tail.Mark
	called    moment                   // it has been sent its first call
	quiet     atomic.Bool              // nobody waits for it: its failures are not told
	stateless bool                     // there are others beside it: see diagnostics.Evidence
	unset     []string                 // granted and not set
	statement []byte                   // what messages tell the server of its limits; nil: nothing
	roots     string                   // the mode
	given     atomic.Pointer[[]string] // the directories that the client has answered as its roots
	rootsOurs atomic.Bool              // we have declared the capability in the client's name
	telling   atomic.Int64             // bytes of ours that wait for the server: see tell
	lastJunk  time.Time                // of the goroutine that reads the server
}

func (i *instance) init(c *front, p *policy.Profile) {
	i.client, i.Profile, i.unset = c, p, c.config.Unset
	if i.roots = p.Roots; i.roots == "" {
		i.roots = rootsOff
	}
	if p.Advertise {
		i.statement = p.Statement()
	}
	i.redact = diagnostics.NewRedactor(p.Env)
	i.tail = diagnostics.NewTail(i.redact)
}

// build starts the program in its jail. That takes milliseconds; where it takes more than
// a moment, nobody but us can say what is waited for.
func (i *instance) build(ctx context.Context) (Process, error) {
	atMost := ""
	if limit := i.Profile.Startup; limit > 0 {
		atMost = fmt.Sprintf(", for at most %v", limit)
		var cancel context.CancelFunc
		key := "startup_timeout_secs"
		if i.client.config.InPlace {
			key = "--startup-timeout"
		}
		ctx, cancel = context.WithTimeoutCause(ctx, limit, fmt.Errorf("it was not ready after %v (%s)", limit, key))
		defer cancel()
	}
	begun, over := time.Now(), make(chan struct{})
	defer close(over)
	note := time.AfterFunc(i.client.times.bootNote, func() {
		for !i.quiet.Load() {
			i.client.errs.Say(fmt.Sprintf("mcp-jail: building the jail of server %q%s; %v so far\n", i.Profile.Server, atMost, time.Since(begun).Round(100*time.Millisecond)))
			select {
			case <-over:
				return
			case <-time.After(i.client.times.again):
			}
		}
	})
	defer note.Stop()
	return i.client.config.Launcher.Start(ctx, i.Profile, i.pipes.theirs)
}

// started takes a process on, before anything of it is shown to anybody.
func (i *instance) started(proc Process) {
	i.redact.Hide(proc.Secrets())
	i.procs.set(proc)
	proc.Tell(i.remark)
}

// remark tells of what a jail says of itself: the user what is amiss, the log the rest.
func (i *instance) remark(r confine.Remark) {
	if r.Warning {
		i.client.warn("warning: " + r.Text)
		i.client.changed()
	}
	i.client.log.Info().Str("server", i.Profile.Server).Msg(r.Text)
}

// accepted tells, at each start, which gaps of the plan the user has accepted.
func (i *instance) accepted(plan *confine.Plan) {
	lines := waived(plan)
	i.client.recording.Lock()
	i.client.record.Waived = lines
	i.client.recording.Unlock()
	for _, line := range lines {
		i.client.errs.Say("mcp-jail: " + line + "\n")
		i.client.log.Warn().Str("server", i.Profile.Server).Msg(strings.TrimPrefix(line, "warning: "))
	}
}

// waived says in words which gaps of a plan the user has accepted, and first of all
// that there are no namespaces.
func waived(plan *confine.Plan) (lines []string) {
	if plan == nil {
		return nil
	}
	if plan.Bare.Answer == confine.No {
		lines = append(lines, "warning: this server runs without namespaces, held by Landlock and seccomp alone: "+plan.Bare.Detail)
	}
	for _, g := range plan.Gaps {
		if g.Waived {
			lines = append(lines, fmt.Sprintf("warning: not enforced (waived): %s: %s: %s", g.Axis, g.What, g.Why))
		}
	}
	return lines
}

// pumpStderr shows what the server writes to its stderr, while shows says so, and
// keeps the end of it for a diagnosis.
func (i *instance) pumpStderr(stderr io.Reader, shows func() bool) {
	shown := diagnostics.NewForward(i.client.errs, i.redact)
	io.Copy(io.MultiWriter(i.tail, gate{shown, shows}), stderr)
	shown.Flush()
}

// gate lets through what is written while it is open.
type gate struct {
	to   io.Writer
	open func() bool
}

// Write implements io.Writer.
func (g gate) Write(b []byte) (int, error) {
	if !g.open() {
		return len(b), nil
	}
	return g.to.Write(b)
}
