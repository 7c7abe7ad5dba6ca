package session

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
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/refusals"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/streams"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/statement"
)

// Server is the state of one server process, or of processes of which one replaces the
// other.
type Server struct {
	Client  *Client
	Profile *policy.Profile

	Pipes     *streams.Pipes
	Processes processHistory
	Redact    *diagnostics.Redactor
	Tail      *diagnostics.Tail
	Leaks     atomic.Pointer[LeakCheck] // of what the current process holds; nil: nothing is looked for

	FirstCallMark  atomic.Int64             // lines of stderr before the first call: see Tail.LineCount
	FirstCall      onceTime                 // when the first call was sent
	LoginSaid      chan struct{}            // gets a value when stderr may say that the server waits for a login
	Quiet          atomic.Bool              // no request waits for the process: its failures are not announced
	Unset          []string                 // variables that are granted and not set
	Statement      []byte                   // what messages tell the server about its policy; nil: nothing
	RootsMode      string                   // RootsOff, RootsNarrow or RootsAdvertise
	clientRoots    atomic.Pointer[[]string] // the directories that the client has named as its roots
	declaredRoots  atomic.Bool              // we have declared the capability in the client's name
	Answers        *mcpproxy.Share          // of what SendAsync has not written yet
	lastNonMessage time.Time                // used by the goroutine that reads the server
	lost           lostAnswers
	seen           refusals.Seen

	// Stateless: other processes run beside it (diagnostics.Evidence). CertainReads: its jail records
	// refused reads (package certain).
	Stateless, CertainReads bool
}

func (s *Server) Init(c *Client, p *policy.Profile) {
	s.Client, s.Profile, s.Unset, s.Answers = c, p, c.Config.Unset, c.Proxy.Memory.Share(ShareFloor)
	if s.RootsMode = p.Roots; s.RootsMode == "" {
		s.RootsMode = RootsOff
	}
	if s.RootsMode == RootsAdvertise {
		s.Statement = statement.New(p).Encode()
	}
	s.Leaks.Store(c.Leaks.For(p))
	s.LoginSaid = make(chan struct{}, 1)
	s.Redact = diagnostics.NewRedactor(slices.Concat(p.Env, confine.SessionSecrets()))
	s.Tail = diagnostics.NewTail(s.Redact)
}

// Launch starts the program in its jail. If that takes longer than times.SlowNote, launch
// says so on stderr, unless quiet is set.
func (s *Server) Launch(ctx context.Context) (Process, error) {
	atMost := ""
	if limit := s.Profile.Startup; limit > 0 {
		atMost = fmt.Sprintf(", for at most %v", limit)
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, fmt.Errorf("it was not ready after %v (startup_timeout_secs)", limit))
		defer cancel()
	}
	begun, over := time.Now(), make(chan struct{})
	defer close(over)
	// Not a ticker: most jails are built before the first note.
	note := time.AfterFunc(s.Client.Times.SlowNote, func() {
		for !s.Quiet.Load() {
			s.Client.Stderr.SayLine(fmt.Sprintf("building the jail of server %q%s; %v so far", s.Profile.Server, atMost, time.Since(begun).Round(100*time.Millisecond)))
			select {
			case <-over:
				return
			case <-time.After(s.Client.Times.SlowRepeat):
			}
		}
	})
	defer note.Stop()
	return s.Client.Config.Launcher.Start(ctx, s.Profile, s.Pipes.ServerEnds)
}

// Adopt makes proc the current process, before any of its output is shown.
func (s *Server) Adopt(proc Process) {
	s.Leaks.Store(s.Client.Leaks.For(s.Profile))
	s.Processes.Set(proc)
	proc.OnNotice(s.onNotice)
}

// CallBegins tells the process that it is about to get a tools/call.
func (s *Server) CallBegins(tool string, beside func() bool) {
	if o, ok := s.Processes.now().(CallObserver); ok {
		o.CallBegins(tool, beside())
	}
}

// CallEnds tells the process that it has answered, and has no other call.
func (s *Server) CallEnds() {
	if o, ok := s.Processes.now().(CallObserver); ok {
		o.CallEnds()
	}
}

func (s *Server) onNotice(r confine.Notice) {
	if r.Leak != nil {
		s.Client.Leaks.inRequest(*r.Leak, s.Profile.Tool)
		return
	}
	if r.Warning {
		s.Client.Warn("warning: " + r.Text)
		s.Client.recordChanged()
	}
	s.Client.Log.Info().Str("server", s.Profile.Server).Msg(r.Text)
}

// WarnWaived says on stderr which gaps of the plan the user has waived. It does so at each
// start.
func (s *Server) WarnWaived(plan *confine.Plan) {
	lines := WaivedWarnings(plan)
	s.Client.RecordMu.Lock()
	before := s.Client.waived
	s.Client.Record.Waived = before
	for _, line := range lines {
		s.Client.noteWaived(line)
	}
	s.Client.waived = nil // the next start says all lines
	s.Client.RecordMu.Unlock()
	for _, line := range lines {
		if !slices.Contains(before, line) {
			s.Client.Stderr.SayLine(line)
		}
		s.Client.Log.Warn().Str("server", s.Profile.Server).Msg(strings.TrimPrefix(line, "warning: "))
	}
}

// WaivedWarnings returns a line for each gap of a plan that the user has waived.
func WaivedWarnings(plan *confine.Plan) (lines []string) {
	if plan == nil {
		return nil
	}
	if plan.HostNamespaces.Answer == confine.No {
		lines = append(lines, "warning: this server runs without namespaces, held by Landlock and seccomp alone: "+plan.HostNamespaces.Detail+diagnostics.PageUserns.Reference())
	}
	var platform []string
	for _, g := range plan.Gaps {
		switch {
		case g.Waived && g.Platform != "":
			platform = append(platform, string(g.Axis)+": "+g.What)
		case g.Waived:
			lines = append(lines, fmt.Sprintf("warning: not enforced (waived): %s: %s: %s%s", g.Axis, g.What, g.Why, diagnostics.PageGap.Reference()))
		}
	}
	if platform != nil { // in one line: they are the same at each start of every server
		lines = append(lines, "warning: not enforced on this system (waived): "+strings.Join(platform, "; ")+diagnostics.PageGap.Reference())
	}
	return lines
}

// PumpStderr copies the server's stderr to ours while shows returns true. It always keeps
// the last lines for a diagnosis.
func (s *Server) PumpStderr(stderr io.Reader, shows func() bool) {
	shown := diagnostics.NewStderrFilter(s.Client.Stderr, s.Redact)
	io.Copy(io.MultiWriter(s.Tail, gatedWriter{shown, shows}, loginWords{s.LoginSaid}), stderr)
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
	Current     Process // nil before the start
	pastDenials []policy.Denial
	listened    []int // see listening
}

func (h *processHistory) Set(proc Process) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.Current != nil {
		h.pastDenials = append(h.pastDenials, h.Current.Denials()...)
	}
	h.Current = proc
}

func (h *processHistory) now() Process {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.Current
}

func (h *processHistory) hostFailures(since time.Time) []policy.HostFailure {
	proc := h.now()
	if proc == nil {
		return nil
	}
	return slices.DeleteFunc(proc.HostFailures(), func(f policy.HostFailure) bool { return f.Time.Before(since) })
}

func (h *processHistory) Denials() []policy.Denial {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.Current == nil {
		return nil
	}
	return append(h.pastDenials[:len(h.pastDenials):len(h.pastDenials)], h.Current.Denials()...)
}

// WarnWaivedOnce says which gaps of a plan the user has waived. It says each line once in a
// session.
func (c *Client) WarnWaivedOnce(plan *confine.Plan) {
	for _, line := range WaivedWarnings(plan) {
		c.RecordMu.Lock()
		c.noteWaived(line)
		c.RecordMu.Unlock()
		c.SayOnce(line)
	}
}

func (c *Client) noteWaived(line string) {
	if !slices.Contains(c.Record.Waived, line) {
		c.Record.Waived = append(c.Record.Waived[:len(c.Record.Waived):len(c.Record.Waived)], line)
	}
}
