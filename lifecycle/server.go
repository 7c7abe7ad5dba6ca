package lifecycle

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
	"github.com/mcp-jail/mcp-jail/policy"
)

// server is the state of one server process, or of processes of which one replaces the
// other.
type server struct {
	client  *client
	profile *policy.Profile

	pipes     *pipes
	processes processHistory
	redact    *diagnostics.Redactor
	tail      *diagnostics.Tail
	leaks     atomic.Pointer[leakCheck] // of what the current process holds; nil: nothing is looked for

	firstCallMark  atomic.Int64             // lines of stderr before the first call: see Tail.LineCount
	firstCall      onceTime                 // when the first call was sent
	quiet          atomic.Bool              // no request waits for the process: its failures are not announced
	stateless      bool                     // other processes run beside it: see diagnostics.Evidence
	unset          []string                 // variables that are granted and not set
	statement      []byte                   // what messages tell the server about its policy; nil: nothing
	rootsMode      string                   // rootsOff, rootsNarrow or rootsAdvertise
	clientRoots    atomic.Pointer[[]string] // the directories that the client has named as its roots
	declaredRoots  atomic.Bool              // we have declared the capability in the client's name
	answers        *mcpproxy.Share          // of what sendAsync has not written yet
	lastNonMessage time.Time                // used by the goroutine that reads the server
}

func (s *server) init(c *client, p *policy.Profile) {
	s.client, s.profile, s.unset, s.answers = c, p, c.config.Unset, c.proxy.Memory.Share(shareFloor)
	if s.rootsMode = p.Roots; s.rootsMode == "" {
		s.rootsMode = rootsOff
	}
	if p.Advertise {
		s.statement = p.Statement()
	}
	s.leaks.Store(c.leaks.of(p))
	s.redact = diagnostics.NewRedactor(p.Env)
	s.tail = diagnostics.NewTail(s.redact)
}

// launch starts the program in its jail. If that takes longer than times.slowNote, launch
// says so on stderr, unless quiet is set.
func (s *server) launch(ctx context.Context) (Process, error) {
	atMost := ""
	if limit := s.profile.Startup; limit > 0 {
		atMost = fmt.Sprintf(", for at most %v", limit)
		var cancel context.CancelFunc
		key := "startup_timeout_secs"
		if s.client.config.FromCommandLine {
			key = "--startup-timeout"
		}
		ctx, cancel = context.WithTimeoutCause(ctx, limit, fmt.Errorf("it was not ready after %v (%s)", limit, key))
		defer cancel()
	}
	begun, over := time.Now(), make(chan struct{})
	defer close(over)
	note := time.AfterFunc(s.client.times.slowNote, func() {
		for !s.quiet.Load() {
			s.client.stderr.SayLine(fmt.Sprintf("building the jail of server %q%s; %v so far", s.profile.Server, atMost, time.Since(begun).Round(100*time.Millisecond)))
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

// adopt makes proc the current process, before any of its output is shown.
func (s *server) adopt(proc Process) {
	s.leaks.Store(s.client.leaks.of(s.profile))
	s.processes.set(proc)
	proc.OnNotice(s.onNotice)
}

// callBegins tells the process that it is about to get a tools/call.
func (s *server) callBegins(tool string, beside func() bool) {
	if o, ok := s.processes.now().(CallObserver); ok {
		o.CallBegins(tool, beside())
	}
}

// onNotice handles a notice of the jail. A leak goes to the leak check. A warning goes to the user
// and to the log, any other notice only to the log.
func (s *server) onNotice(r confine.Notice) {
	if r.Leak != nil {
		s.client.leaks.inRequest(*r.Leak, s.profile.Tool)
		return
	}
	if r.Warning {
		s.client.warn("warning: " + r.Text)
		s.client.recordChanged()
	}
	s.client.log.Info().Str("server", s.profile.Server).Msg(r.Text)
}

// warnWaived says on stderr which gaps of the plan the user has waived. It does so at each
// start.
func (s *server) warnWaived(plan *confine.Plan) {
	s.client.watchHidden(plan)
	lines := waivedWarnings(plan)
	s.client.recordMu.Lock()
	s.client.record.Waived = lines
	s.client.recordMu.Unlock()
	for _, line := range lines {
		s.client.stderr.SayLine(line)
		s.client.log.Warn().Str("server", s.profile.Server).Msg(strings.TrimPrefix(line, "warning: "))
	}
}

// waivedWarnings returns a line for each gap that the user has waived. If there are no
// namespaces, the first line says so.
func waivedWarnings(plan *confine.Plan) (lines []string) {
	if plan == nil {
		return nil
	}
	if plan.HostNamespaces.Answer == confine.No {
		lines = append(lines, "warning: this server runs without namespaces, held by Landlock and seccomp alone: "+plan.HostNamespaces.Detail+diagnostics.PageUserns.Reference())
	}
	for _, g := range plan.Gaps {
		if g.Waived {
			lines = append(lines, fmt.Sprintf("warning: not enforced (waived): %s: %s: %s%s", g.Axis, g.What, g.Why, diagnostics.PageGap.Reference()))
		}
	}
	return lines
}

// pumpStderr copies the server's stderr to ours while shows returns true. It always keeps
// the last lines for a diagnosis.
func (s *server) pumpStderr(stderr io.Reader, shows func() bool) {
	shown := diagnostics.NewStderrFilter(s.client.stderr, s.redact)
	io.Copy(io.MultiWriter(s.tail, gatedWriter{shown, shows}), stderr)
	shown.Flush()
}

// gatedWriter writes while open returns true, and discards otherwise.
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

// processHistory holds the processes of a session that replace one another. The denials of
// earlier ones belong to the session too.
type processHistory struct {
	mu          sync.Mutex
	current     Process // nil before the start
	pastDenials []policy.Denial
}

func (h *processHistory) set(proc Process) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.current != nil {
		h.pastDenials = append(h.pastDenials, h.current.Denials()...)
	}
	h.current = proc
}

// now returns the current process, which may have ended, or nil before the start.
func (h *processHistory) now() Process {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.current
}

// hostFailures returns the granted hosts that the current process could not reach since a time.
func (h *processHistory) hostFailures(since time.Time) []policy.HostFailure {
	proc := h.now()
	if proc == nil {
		return nil
	}
	return slices.DeleteFunc(proc.HostFailures(), func(f policy.HostFailure) bool { return f.Time.Before(since) })
}

func (h *processHistory) denials() []policy.Denial {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.current == nil {
		return nil
	}
	return append(h.pastDenials[:len(h.pastDenials):len(h.pastDenials)], h.current.Denials()...)
}
