//go:build unix

package sessiontest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/diagnostics/diagnostest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Fleet starts a server of this binary for each process, without a jail. servers names
// the server for each tool; "" is that of discovery workers, and of tools without one.
type Fleet struct {
	Servers map[string]string
	Errs    map[string]error // instead
	Gate    chan struct{}    // starts wait until it is closed; nil: they do not
	Denials map[string][]policy.Denial
	Mounted func() ([]byte, bool) // in each jail: see Fake

	// options of a shop, for the n-th process (from 0) of a tool.
	Options func(tool string, n int) string
	dir     string // of the shops' logs

	Mu    sync.Mutex
	Procs []*fakeProcess
	Tools []string // of the processes, in the order of their start
	sure  []bool   // session.Reads of their starts
	where []string // their working directories, which are only told
}

func (f *Fleet) Start(ctx context.Context, p *policy.Profile, stdio confine.Stdio) (session.Process, error) {
	if f.Gate != nil {
		select {
		case <-f.Gate:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if err := f.Errs[p.Tool]; err != nil {
		return nil, err
	}
	server := f.Servers[p.Tool]
	if server == "" {
		server = f.Servers[""]
	}
	f.Mu.Lock()
	defer f.Mu.Unlock()
	n, options := 0, ""
	for _, t := range f.Tools {
		if t == p.Tool {
			n++
		}
	}
	if f.Options != nil {
		options = f.Options(p.Tool, n)
	}
	started, err := startServer(ctx, append(os.Environ(), "MCP_JAIL_TEST_SERVER="+server, "MCP_JAIL_TEST_TOOL="+p.Tool, "MCP_JAIL_TEST_OPTIONS="+options,
		fmt.Sprintf("MCP_JAIL_TEST_LOG=%s/%s.%d", f.dir, p.Tool, n), "GORACE=atexit_sleep_ms=0"), stdio)
	if err != nil {
		return nil, err
	}
	proc := &fakeProcess{server: started, done: make(chan struct{}), fake: &Fake{Denials: f.Denials[p.Tool], Mounted: f.Mounted}}
	f.Procs = append(f.Procs, proc)
	f.Tools = append(f.Tools, p.Tool)
	f.where, f.sure = append(f.where, p.Dir), append(f.sure, session.Reads(ctx))
	go func() {
		started.Wait()
		close(proc.done)
	}()
	return proc, nil
}

// Started counts the processes of a tool.
func (f *Fleet) Started(tool string) (n int) {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	for _, t := range f.Tools {
		if t == tool {
			n++
		}
	}
	return n
}

// Dirs returns the working directories of a tool's processes.
func (f *Fleet) Dirs(tool string) (dirs []string) {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	for i, t := range f.Tools {
		if t == tool {
			dirs = append(dirs, f.where[i])
		}
	}
	return dirs
}

// Certain reports for each process of a tool, in the order of their start, whether its jail was to
// record refused reads.
func (f *Fleet) Certain(tool string) (sure []bool) {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	for i, t := range f.Tools {
		if t == tool {
			sure = append(sure, f.sure[i])
		}
	}
	return sure
}

// Of returns the processes of a tool.
func (f *Fleet) Of(tool string) (procs []*fakeProcess) {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	for i, t := range f.Tools {
		if t == tool {
			procs = append(procs, f.Procs[i])
		}
	}
	return procs
}

const (
	ClientHello = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
	Initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
)

// Greet takes the session through the client's handshake.
func (p *Play) Greet() {
	p.T.Helper()
	p.Send(ClientHello, Initialized)
	if l := p.Line(); !json.Valid([]byte(l)) || !HasID(l, "0") {
		p.T.Fatalf("initialize was answered with %q", l)
	}
}

func HasID(line, id string) bool {
	var m struct{ ID json.RawMessage }
	return json.Unmarshal([]byte(line), &m) == nil && string(m.ID) == id
}

func CallOf(id, tool, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, tool, arguments)
}

var ErrExec = &confine.StartError{Step: confine.StepExec, Errno: syscall.ENOENT, Detail: "/no/such/program"}

// NewFleetPlay is newPlay for a session each of whose calls has a process of its own.
func NewFleetPlay(t testing.TB, f *Fleet) (p *Play, s session.Session) {
	t.Helper()
	p, s = newPlay(t, &Fake{})
	s.Launcher, diagnostest.Of(&s.Known).Decide = f, Deciding()
	times := session.TimesOf(&s)
	times.DrainIdle, times.ExitGrace, times.Tick = 100*time.Millisecond, 200*time.Millisecond, 50*time.Millisecond
	f.dir = t.TempDir()
	return p, s
}

// ProfileOf returns the profile of a session for one tool.
func ProfileOf(s *session.Session, tool string) *policy.Profile {
	profile := *s.Profile
	profile.Tool = tool
	return &profile
}

// RunFleet has run make the session. Everything of it is over when the test ends, or the test
// fails.
func (p *Play) RunFleet(f *Fleet, s session.Session, run func(context.Context) confine.Exit) {
	t := p.T
	over := p.start(s, run)
	t.Cleanup(func() {
		p.Cancel()
		select {
		case <-over:
		case <-time.After(testkit.Patience):
			t.Error("the session does not end")
		}
		for _, f := range p.files {
			f.Close()
		}
		f.Mu.Lock()
		procs := f.Procs
		f.Mu.Unlock()
		for i, proc := range procs {
			select {
			case <-proc.done:
			case <-time.After(testkit.Patience):
				t.Errorf("a process of %q is still there", f.Tools[i])
				proc.Kill()
			}
		}
		p.settled()
	})
}

// Ready waits until the n-th process of a tool is past its handshake.
func (f *Fleet) Ready(t testing.TB, tool string, n int) {
	t.Helper()
	Eventually(t, fmt.Sprintf("warm worker %d of %s", n, tool), func() bool { return strings.Contains(f.Saw(tool, n), "initialized") })
}

// Calls counts the calls that processes of a tool have read.
func (f *Fleet) Calls(tool string) (n int) {
	for i := range f.Started(tool) {
		n += strings.Count(f.Saw(tool, i), "tools/call")
	}
	return n
}

func NewShop() *Fleet { return &Fleet{Servers: map[string]string{"": "shop"}} }

// Opening sends initialize and tools/list, and returns the list of tools.
func (p *Play) Opening() string {
	p.T.Helper()
	p.Greet()
	p.Send(Legacy("-1", "tools/list", "{}"))
	return p.Answer("-1").Line
}

// executed is a process without a jail.
type executed struct{ cmd *exec.Cmd }

// startServer starts this binary with variables, unconfined.
func startServer(_ context.Context, env []string, stdio confine.Stdio) (server, error) {
	cmd := exec.Command(os.Args[0])
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = env, stdio.In, stdio.Out, stdio.Err
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &executed{cmd}, nil
}

func (e *executed) PID() int { return e.cmd.Process.Pid }

func (e *executed) Signal(s os.Signal) error { return e.cmd.Process.Signal(s) }

func (e *executed) Kill() error { return e.cmd.Process.Kill() }

func (e *executed) Wait() (confine.Exit, error) {
	e.cmd.Wait()
	ws := e.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ws.Signaled() {
		return confine.Exit{Code: 128 + int(ws.Signal()), Signal: ws.Signal()}, nil
	}
	return confine.Exit{Code: ws.ExitStatus()}, nil
}
