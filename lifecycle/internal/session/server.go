package session

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/diagnostics/diagnose"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/streams"
	"github.com/mcp-jail/mcp-jail/policy"
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
	Leaks     atomic.Pointer[leakCheck] // of what the current process holds; nil: nothing is looked for

	FirstCallMark atomic.Int64  // lines of stderr before the first call: see Tail.LineCount
	FirstCall     onceTime      // when the first call was sent
	LoginSaid     chan struct{} // gets a value when stderr may say that the server waits for a login
	Quiet         atomic.Bool   // no request waits for the process: its failures are not announced
	Unset         []string      // variables that are granted and not set
	Roots         roots
	unsent        atomic.Int64 // messages that SendAsync has not written yet
	Stray         strayLines
	toldReplaced  []string // of replaced; the goroutine that reads the server uses it

	hidden []policy.Variable // no value of them is recorded: those of this process, and of all that it follows

	// Stateless: other processes run beside it (diagnostics.Evidence). CertainReads: its jail records
	// refused reads.
	Stateless, CertainReads bool
}

func (s *Server) Init(c *Client, p *policy.Profile) {
	s.Client, s.Profile, s.Unset = c, p, c.Config.Known.Unset
	s.Roots.init(c, p)
	s.Stray.server = s
	s.Leaks.Store(c.Leaks.For(p))
	s.LoginSaid = make(chan struct{}, 1)
	s.redact(p.Env)
}

// redact has the record and what is quoted hide the values of variables.
func (s *Server) redact(variables []policy.Variable) {
	s.hidden = variables
	s.Redact = diagnostics.NewRedactor(slices.Concat(variables, confine.SessionSecrets()))
	s.Tail = diagnostics.NewTail(s.Redact)
}

// Follow has a new process know what the client has said to the one before. unset are the variables that are granted to it
// and not set.
func (s *Server) Follow(earlier *Server, unset []string) {
	s.Unset, s.CertainReads = unset, earlier.CertainReads
	s.Quiet.Store(true)
	s.Roots.Follow(&earlier.Roots)
	// The record of the session names what was refused to all earlier ones, too.
	s.redact(slices.Concat(s.Profile.Env, earlier.hidden))
}

// Succeed has the process of Follow take the place of the one before, which has ended.
func (s *Server) Succeed(earlier *Server) {
	s.Processes.Follow(&earlier.Processes)
	s.Roots.Follow(&earlier.Roots) // the client may have named others meanwhile
	s.FirstCall.at.Store(earlier.FirstCall.at.Load())
	s.Quiet.Store(false)
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
	s.Client.warnWaived(proc.Plan())
}

func (s *Server) onNotice(r confine.Notice) {
	if r.Leak != nil {
		s.Client.Leaks.inRequest(*r.Leak, s.Profile.Tool)
		return
	}
	if r.Warning {
		s.Client.warnNow("warning: " + r.Text)
	}
}

// PumpStderr copies the server's stderr to ours while shows returns true. It always keeps
// the last lines for a diagnosis.
func (s *Server) PumpStderr(stderr io.Reader, shows func() bool) {
	shown := diagnostics.NewStderrFilter(s.Client.Stderr, s.Redact, s.Client.Config.Rows)
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

// Follow takes over the denials of the process before.
func (h *processHistory) Follow(earlier *processHistory) {
	past := earlier.Denials()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pastDenials = append(past, h.pastDenials...)
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

// CallBegins tells the process that it is about to get a tools/call.
func (h *processHistory) CallBegins(tool string, beside func() bool) {
	if o, ok := h.now().(CallObserver); ok {
		o.CallBegins(tool, beside())
	}
}

// CallEnds tells the process that it has answered, and has no other call.
func (h *processHistory) CallEnds() {
	if o, ok := h.now().(CallObserver); ok {
		o.CallEnds()
	}
}

// listener is a Process that knows at which TCP ports programs of its jail listen. known is false
// where that cannot be found out.
type listener interface {
	Listening() (ports []int, known bool)
}

// listening returns the ports at which programs of the current jail listen. If that has ended, they
// are those of the last time that it was asked.
func (h *processHistory) listening() []int {
	var ports []int
	known, proc := false, h.now()
	if l, ok := proc.(listener); ok && !IsClosed(proc.Done()) {
		ports, known = l.Listening()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if known {
		h.listened = ports
	}
	return h.listened
}

// loginWords is a writer for the server's stderr. It sends on said when a text may be of a server that
// waits for a login.
type loginWords struct{ said chan<- struct{} }

// Write implements io.Writer.
func (w loginWords) Write(b []byte) (int, error) {
	if diagnose.MayAwait(b) {
		select {
		case w.said <- struct{}{}:
		default:
		}
	}
	return len(b), nil
}

// Launcher starts the program of a profile. Start returns the errors of confine:
// *confine.GapError and *confine.StartError. Cancelling ctx ends a start that is not
// finished, but no running process.
type Launcher interface {
	Start(ctx context.Context, p *policy.Profile, stdio confine.Stdio) (Process, error)
}

// Process is a program in its jail.
type Process interface {
	PID() int
	Signal(os.Signal) error             // to the program
	Kill() error                        // everything in the jail, at once
	Done() <-chan struct{}              // closed when every process of the jail is gone
	Wait() (confine.Exit, error)        // waits for Done, and tells how the program ended
	Denials() []policy.Denial           // what the jail has refused so far
	HostFailures() []policy.HostFailure // granted hosts that this machine could not reach
	OnNotice(func(confine.Notice))      // registers a function for the jail's remarks, past and future
	// Unanswered returns the ports of the jail's own loopback to which the server connected since a
	// time, while no program of the jail listened there.
	Unanswered(since time.Time) []policy.Unanswered
	Plan() *confine.Plan // what the jail enforces; nil if that is not known
	// Mounts returns what is mounted in the jail now, and whether that has all that the plan mounts.
	Mounts() (list []byte, whole bool)
}

// CallObserver is a Process that must know which call it serves. CallBegins is called before the
// process gets a tools/call. beside says that the process has other calls, which are neither
// answered nor cancelled. CallEnds is called before the client gets the answer to the last of them.
type CallObserver interface {
	CallBegins(tool string, beside bool)
	CallEnds()
}

// LauncherFunc is a function that implements Launcher.
type LauncherFunc func(context.Context, *policy.Profile, confine.Stdio) (Process, error)

// Start implements Launcher.
func (f LauncherFunc) Start(ctx context.Context, p *policy.Profile, stdio confine.Stdio) (Process, error) {
	return f(ctx, p, stdio)
}

// DiagnosedError is the error of a Launcher that knows what to tell the client.
type DiagnosedError struct {
	Diagnosis  diagnostics.Diagnosis
	ExitStatus int
}

func (e *DiagnosedError) Error() string { return e.Diagnosis.What }
