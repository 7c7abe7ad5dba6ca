package lifecycle

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/policy"
)

// server is what concerns one process of a server, or several of which one
// follows the other.
type server struct {
	client  *client
	profile *policy.Profile

	pipes     *pipes
	processes processHistory
	redact    *diagnostics.Redactor
	tail      *diagnostics.Tail

	firstCallMark atomic.Int64             // where its stderr was at the first call: see Tail.Mark
	firstCall     onceTime                 // it has been sent its first call
	quiet         atomic.Bool              // nobody waits for it: its failures are not told
	stateless     bool                     // there are others beside it: see diagnostics.Evidence
	unset         []string                 // granted and not set
	statement     []byte                   // what messages tell the server of its limits; nil: nothing
	rootsMode     string                   // the mode
	clientRoots   atomic.Pointer[[]string] // the directories that the client has answered as its roots
	declaredRoots atomic.Bool              // we have declared the capability in the client's name
	pendingBytes  atomic.Int64             // bytes of ours that wait for the server: see tell
	lastJunk      time.Time                // of the goroutine that reads the server
}

func (s *server) init(c *client, p *policy.Profile) {
	s.client, s.profile, s.unset = c, p, c.config.Unset
	if s.rootsMode = p.Roots; s.rootsMode == "" {
		s.rootsMode = rootsOff
	}
	if p.Advertise {
		s.statement = p.Statement()
	}
	s.redact = diagnostics.NewRedactor(p.Env)
	s.tail = diagnostics.NewTail(s.redact)
}

// launch starts the program in its jail. That takes milliseconds; where it takes more than
// a moment, nobody but us can say what is waited for.
func (s *server) launch(ctx context.Context) (Process, error) {
	atMost := ""
	if limit := s.profile.Startup; limit > 0 {
		atMost = fmt.Sprintf(", for at most %v", limit)
		var cancel context.CancelFunc
		key := "startup_timeout_secs"
		if s.client.config.InPlace {
			key = "--startup-timeout"
		}
		ctx, cancel = context.WithTimeoutCause(ctx, limit, fmt.Errorf("it was not ready after %v (%s)", limit, key))
		defer cancel()
	}
	begun, over := time.Now(), make(chan struct{})
	defer close(over)
	note := time.AfterFunc(s.client.times.slowNote, func() {
		for !s.quiet.Load() {
			s.client.stderr.Say(fmt.Sprintf("mcp-jail: building the jail of server %q%s; %v so far\n", s.profile.Server, atMost, time.Since(begun).Round(100*time.Millisecond)))
			select {
			case <-over:
				return
			case <-time.After(s.client.times.slowRepeat):
			}
		}
	})
	defer note.Stop()
	return s.client.config.Launcher.Start(ctx, s.profile, s.pipes.serverEnds)
}

// adopt takes a process on, before anything of it is shown to anybody.
func (s *server) adopt(proc Process) {
	s.redact.AddSecrets(proc.Secrets())
	s.processes.set(proc)
	proc.Tell(s.onRemark)
}

// onRemark tells of what a jail says of itself: the user what is amiss, the log the rest.
func (s *server) onRemark(r confine.Remark) {
	if r.Warning {
		s.client.warn("warning: " + r.Text)
		s.client.recordChanged()
	}
	s.client.log.Info().Str("server", s.profile.Server).Msg(r.Text)
}

// warnWaived tells, at each start, which gaps of the plan the user has accepted.
func (s *server) warnWaived(plan *confine.Plan) {
	lines := waivedWarnings(plan)
	s.client.recordMu.Lock()
	s.client.record.Waived = lines
	s.client.recordMu.Unlock()
	for _, line := range lines {
		s.client.stderr.Say("mcp-jail: " + line + "\n")
		s.client.log.Warn().Str("server", s.profile.Server).Msg(strings.TrimPrefix(line, "warning: "))
	}
}

// waivedWarnings says in words which gaps of a plan the user has accepted, and first of all
// that there are no namespaces.
func waivedWarnings(plan *confine.Plan) (lines []string) {
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
func (s *server) pumpStderr(stderr io.Reader, shows func() bool) {
	shown := diagnostics.NewStderrFilter(s.client.stderr, s.redact)
	io.Copy(io.MultiWriter(s.tail, gatedWriter{shown, shows}), stderr)
	shown.Flush()
}

// gatedWriter lets through what is written while it is open.
type gatedWriter struct {
	to   io.Writer
	open func() bool
}

// Write implements io.Writer.
func (g gatedWriter) Write(b []byte) (int, error) {
	if !g.open() {
		return len(b), nil
	}
	return g.to.Write(b)
}

// processHistory are the processes of a session, one after the other. What the jails of
// the earlier ones recorded belongs to the session.
type processHistory struct {
	mu          sync.Mutex
	current     Process // nil before the start
	pastDenials []confine.Denial
}

func (h *processHistory) set(proc Process) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.current != nil {
		h.pastDenials = append(h.pastDenials, h.current.Denials()...)
	}
	h.current = proc
}

func (h *processHistory) denials() []confine.Denial {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.current == nil {
		return nil
	}
	return append(h.pastDenials[:len(h.pastDenials):len(h.pastDenials)], h.current.Denials()...)
}
