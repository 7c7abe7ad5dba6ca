//go:build unix

package sessiontest

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/diagnostics/diagnostest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/policy"
)

// MainOf is the TestMain of a package. It turns the binary into the server that
// MCP_JAIL_TEST_SERVER names; "session" is the package's own.
func MainOf(m *testing.M, own func()) {
	if name := os.Getenv("MCP_JAIL_TEST_SERVER"); name != "" {
		if name == "session" {
			own()
		}
		if own := servers[name]; own != nil {
			own()
			return
		}
		play(name)
	}
	signal.Notify(make(chan os.Signal, 1), syscall.SIGUSR2) // starts the goroutine that package signal keeps
	flag.Set("test.parallel", "8")                          // most of these tests only wait; the command line overrides it
	before := runtime.NumGoroutine()
	status := m.Run()
	if status == 0 && !eventuallyTrue(func() bool { return runtime.NumGoroutine() <= before }) {
		stacks := make([]byte, 1<<20)
		fmt.Printf("goroutines are left:\n%s", stacks[:runtime.Stack(stacks, true)])
		status = 1
	}
	os.Exit(status)
}

// eventuallyTrue waits until ok, and reports whether it has come true.
func eventuallyTrue(ok func() bool) bool {
	for end := time.Now().Add(testkit.Patience); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

// Fake starts a server of this binary, unconfined.
type Fake struct {
	Plan     *confine.Plan // may be nil
	Server   string
	Heirs    []string        // the servers of its later starts; the last one counts for all that follow
	Err      error           // instead
	Block    bool            // until ctx is cancelled
	Denials  []policy.Denial // after the first request for them
	Last     func()          // before its end is told
	Why      string          // its jail ended it
	Remarks  []confine.Notice
	failures []policy.HostFailure

	Unanswered []policy.Unanswered
	Mounted    func() ([]byte, bool) // see session.Process; nil: no mounts

	Mu     sync.Mutex
	Proc   *fakeProcess // the last one
	Procs  []*fakeProcess
	Starts int
}

func (f *Fake) Start(ctx context.Context, _ *policy.Profile, stdio confine.Stdio) (session.Process, error) {
	if f.Block {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if f.Err != nil {
		return nil, f.Err
	}
	f.Mu.Lock()
	name := f.Server
	if f.Starts > 0 && len(f.Heirs) > 0 {
		name = f.Heirs[min(f.Starts, len(f.Heirs))-1]
	}
	f.Mu.Unlock()
	s, err := startServer(ctx, append(os.Environ(), "MCP_JAIL_TEST_SERVER="+name, "GORACE=atexit_sleep_ms=0"), stdio)
	if err != nil {
		return nil, err
	}
	p := &fakeProcess{server: s, done: make(chan struct{}), fake: f}
	f.Mu.Lock()
	f.Proc, f.Procs = p, append(f.Procs, p)
	f.Starts++
	f.Mu.Unlock()
	go func() {
		s.Wait()
		if f.Last != nil {
			f.Last()
		}
		close(p.done)
	}()
	return p, nil
}

// server is a process that startServer started.
type server interface {
	PID() int
	Signal(os.Signal) error
	Kill() error
	Wait() (confine.Exit, error)
}

type fakeProcess struct {
	server
	done chan struct{}
	fake *Fake
}

func (p *fakeProcess) Done() <-chan struct{} { return p.done }

func (p *fakeProcess) Wait() (confine.Exit, error) {
	<-p.done
	exit, err := p.server.Wait()
	exit.Why = p.fake.Why
	return exit, err
}

func (p *fakeProcess) OnNotice(whom func(confine.Notice)) {
	for _, r := range p.fake.Remarks {
		whom(r)
	}
}

func (p *fakeProcess) Plan() *confine.Plan { return p.fake.Plan }

func (p *fakeProcess) Mounts() ([]byte, bool) {
	if p.fake.Mounted == nil {
		return nil, true
	}
	return p.fake.Mounted()
}

func (p *fakeProcess) HostFailures() []policy.HostFailure { return p.fake.failures }

func (p *fakeProcess) Unanswered(since time.Time) []policy.Unanswered {
	p.fake.Mu.Lock()
	defer p.fake.Mu.Unlock()
	return slices.DeleteFunc(slices.Clone(p.fake.Unanswered), func(u policy.Unanswered) bool { return u.Last.Before(since) })
}

func (p *fakeProcess) Denials() []policy.Denial {
	p.fake.Mu.Lock()
	defer p.fake.Mu.Unlock()
	var out []policy.Denial
	for _, d := range p.fake.Denials {
		if d.Time.IsZero() {
			d.Time = time.Now()
		}
		if d.Count > 1 {
			d.Last = time.Now()
		}
		out = append(out, d)
	}
	return out
}

// Refuse adds the refusal of a program, now.
func (f *Fake) Refuse(program string) {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	f.Denials = append(f.Denials, policy.Denial{Time: time.Now(), Axis: policy.AxisProcess, Operation: "execute", Target: program, Count: 1})
}

// Play is a session under test, seen from the client.
type Play struct {
	T      testing.TB
	Fake   *Fake
	In     *os.File // write end of the proxy's stdin
	Out    *os.File
	lines  *bufio.Reader
	stderr chan string
	Status chan int
	Exit   confine.Exit
	Err    error
	Cancel context.CancelFunc
	files  []*os.File
	errs   [2]*os.File // the pipe of its stderr
	label  string      // of its goroutines: see goroutines
	Record diagnostics.Record

	Stash []Said // that the test has not asked for yet
}

// Impatient makes a session ask a server soon to end. A server that does gets all the time that it needs on
// a busy machine.
func Impatient(s *session.Session) { session.TimesOf(s).Term = 300 * time.Millisecond }

// Ruthless makes a session kill a server soon.
func Ruthless(s *session.Session) {
	Impatient(s)
	session.TimesOf(s).Kill = 200 * time.Millisecond
}

// newPlay is a session that is still to be started, and its client.
func newPlay(t testing.TB, f *Fake) (p *Play, s session.Session) {
	t.Helper()
	p = &Play{T: t, Fake: f, stderr: make(chan string, 1), Status: make(chan int, 1), label: strconv.FormatInt(plays.Add(1), 10)}
	pipe := func() (r, w *os.File) {
		r, w, err := os.Pipe()
		testkit.Must(t, err)
		p.files = append(p.files, r, w)
		return r, w
	}
	s.In, p.In = pipe()
	p.Out, s.Out = pipe()
	p.errs[0], p.errs[1] = pipe()
	s.Err = p.errs[1]
	p.lines = bufio.NewReaderSize(p.Out, 1<<20)
	s.Profile = &policy.Profile{Server: "test", Startup: testkit.Patience, Limits: policy.DefaultLimits}
	s.Sink = func(r diagnostics.Record) { p.Record = r }
	session.TimesOf(&s).SlowNote = testkit.Patience // a busy machine is no finding
	return p, s
}

// start has run make a session of s, and closes over when that has returned.
func (p *Play) start(s session.Session, run func(context.Context) confine.Exit) (over chan struct{}) {
	var ctx context.Context
	ctx, p.Cancel = context.WithCancel(context.Background())
	over = make(chan struct{})
	p.Labelled(func() {
		go func() {
			b, _ := io.ReadAll(p.errs[0])
			p.stderr <- string(b)
		}()
		go func() {
			defer close(over)
			p.Exit = run(ctx)
			p.errs[1].Close()
			s.Out.Close()
			p.Status <- p.Exit.Code
		}()
	})
	return over
}

// plays counts the sessions of all tests, to give each a label.
var plays atomic.Int64

// Labelled runs f with the label of the session. Every goroutine that f starts, and
// every goroutine that such a goroutine starts, inherits the label.
func (p *Play) Labelled(f func()) {
	pprof.Do(context.Background(), pprof.Labels("play", p.label), func(context.Context) { f() })
}

// goroutines returns how many goroutines of the session there are, and their stacks.
// Goroutines of timers have no label; TestMain counts them at the end.
func (p *Play) goroutines() (n int, stacks string) {
	var profile strings.Builder
	pprof.Lookup("goroutine").WriteTo(&profile, 1)
	for group := range strings.SplitSeq(profile.String(), "\n\n") {
		if strings.Contains(group, `"play":"`+p.label+`"`) {
			count, _, _ := strings.Cut(group, " ")
			same, _ := strconv.Atoi(count)
			n += same
			stacks += group + "\n\n"
		}
	}
	return n, stacks
}

// settled fails the test where goroutines are left of the session.
func (p *Play) settled() bool {
	if eventuallyTrue(func() bool { n, _ := p.goroutines(); return n == 0 }) {
		return true
	}
	_, stacks := p.goroutines()
	p.T.Errorf("goroutines are left:\n%s", stacks)
	return false
}

func (p *Play) Send(lines ...string) {
	p.T.Helper()
	for _, l := range lines {
		if _, err := io.WriteString(p.In, l+"\n"); err != nil {
			p.T.Errorf("send: %v", err)
		}
	}
}

// Line reads one line of the proxy, its end included.
func (p *Play) Line() string {
	p.T.Helper()
	p.Out.SetReadDeadline(time.Now().Add(testkit.Patience))
	l, err := p.lines.ReadString('\n')
	if err != nil && err != io.EOF {
		p.T.Errorf("read: %v", err)
	}
	return l
}

// Rest reads until the proxy has closed its stdout.
func (p *Play) Rest() string {
	p.T.Helper()
	p.Out.SetReadDeadline(time.Now().Add(testkit.Patience))
	b, err := io.ReadAll(p.lines)
	if err != nil {
		p.T.Errorf("read: %v", err)
	}
	return string(b)
}

// Ended waits for the session and returns its status and its stderr.
func (p *Play) Ended() (int, string) {
	p.T.Helper()
	select {
	case status := <-p.Status:
		return status, <-p.stderr
	case <-time.After(testkit.Patience):
		stacks := make([]byte, 1<<20)
		p.T.Fatalf("the session hangs:\n%s", stacks[:runtime.Stack(stacks, true)])
		return 0, ""
	}
}

// Use makes p talk to two descriptors.
func (p *Play) Use(in, out *os.File) {
	p.In, p.Out = in, out
	p.lines = bufio.NewReaderSize(out, 1<<20)
}

// BeginWith has run start a session. Everything of it is over when the test ends, or the
// test fails: the process, the goroutines, the session itself.
func BeginWith(t testing.TB, f *Fake, change func(*session.Session), run func(context.Context, session.Session) (confine.Exit, error)) *Play {
	t.Helper()
	p, s := newPlay(t, f)
	s.Launcher, diagnostest.Of(&s.Known).Decide = f, Deciding()
	s.Linger = 2 * time.Second
	session.TimesOf(&s).AfterRefusal, session.TimesOf(&s).DrainIdle = time.Second, 100*time.Millisecond
	if change != nil {
		change(&s)
	}
	p.start(s, func(ctx context.Context) (exit confine.Exit) {
		exit, p.Err = run(ctx, s)
		return exit
	})
	t.Cleanup(func() {
		p.Cancel()
		for _, f := range p.files {
			f.Close()
		}
		for _, proc := range p.Fake.Procs {
			select {
			case <-proc.Done():
			default:
				t.Error("the server is still there")
				proc.Kill()
			}
		}
		p.settled()
	})
	return p
}
