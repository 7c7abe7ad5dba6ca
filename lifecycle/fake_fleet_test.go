//go:build unix

package lifecycle

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/lifecycle/catalog"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
	"github.com/mcp-jail/mcp-jail/policy"
)

// fleet starts a server of this binary for each process, without a jail. servers names
// the server for each tool; "" is that of discovery workers, and of tools without one.
type fleet struct {
	servers map[string]string
	errs    map[string]error // instead
	gate    chan struct{}    // starts wait until it is closed; nil: they do not
	denials map[string][]policy.Denial

	// options of a shop, for the n-th process (from 0) of a tool.
	options func(tool string, n int) string
	dir     string // of the shops' logs

	mu    sync.Mutex
	procs []*fakeProcess
	tools []string // of the processes, in the order of their start
	where []string // their working directories, which are only told
}

func (f *fleet) Start(ctx context.Context, p *policy.Profile, stdio confine.Stdio) (Process, error) {
	if f.gate != nil {
		select {
		case <-f.gate:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if err := f.errs[p.Tool]; err != nil {
		return nil, err
	}
	server := f.servers[p.Tool]
	if server == "" {
		server = f.servers[""]
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	n, options := 0, ""
	for _, t := range f.tools {
		if t == p.Tool {
			n++
		}
	}
	if f.options != nil {
		options = f.options(p.Tool, n)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "MCP_JAIL_TEST_SERVER="+server, "MCP_JAIL_TEST_TOOL="+p.Tool, "MCP_JAIL_TEST_OPTIONS="+options,
		fmt.Sprintf("MCP_JAIL_TEST_LOG=%s/%s.%d", f.dir, p.Tool, n), "GORACE=atexit_sleep_ms=0")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdio.In, stdio.Out, stdio.Err
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	proc := &fakeProcess{cmd: cmd, done: make(chan struct{}), fake: &fake{denials: f.denials[p.Tool]}}
	f.procs = append(f.procs, proc)
	f.tools = append(f.tools, p.Tool)
	f.where = append(f.where, p.Dir)
	go func() {
		cmd.Wait()
		close(proc.done)
	}()
	return proc, nil
}

// started counts the processes of a tool.
func (f *fleet) started(tool string) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, t := range f.tools {
		if t == tool {
			n++
		}
	}
	return n
}

// dirs returns the working directories of a tool's processes.
func (f *fleet) dirs(tool string) (dirs []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, t := range f.tools {
		if t == tool {
			dirs = append(dirs, f.where[i])
		}
	}
	return dirs
}

// of returns the processes of a tool.
func (f *fleet) of(tool string) (procs []*fakeProcess) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, t := range f.tools {
		if t == tool {
			procs = append(procs, f.procs[i])
		}
	}
	return procs
}

// beginStateless starts a session each of whose calls has a process of its own.
// Everything of it is over when the test ends, or the test fails.
func beginStateless(t testing.TB, f *fleet, change func(*Session, *Stateless)) *play {
	t.Helper()
	p, s := newPlay(t, &fake{})
	s.Launcher = f
	program, err := os.Executable() // for the catalog's fingerprint
	if err != nil {
		t.Fatal(err)
	}
	s.Profile.Program = program
	s.times.drainIdle, s.times.exitGrace, s.times.tick = 100*time.Millisecond, 200*time.Millisecond, 50*time.Millisecond
	o := Stateless{Catalog: &catalog.Catalog{}, Version: "test", Tool: func(name string) (Tool, error) {
		profile := *s.Profile
		profile.Tool = name
		return Tool{Profile: &profile}, nil
	}}
	if change != nil {
		change(&s, &o)
	}
	f.dir = t.TempDir()
	var session *statelessSession
	p.labelled(func() { session = newStatelessSession(s, o) })
	p.session = session
	over := p.start(s, session.run)
	t.Cleanup(func() {
		p.cancel()
		select {
		case <-over:
		case <-time.After(testkit.Patience):
			t.Error("the session does not end")
		}
		for _, f := range p.files {
			f.Close()
		}
		f.mu.Lock()
		procs := f.procs
		f.mu.Unlock()
		for i, proc := range procs {
			select {
			case <-proc.done:
			case <-time.After(testkit.Patience):
				t.Errorf("a process of %q is still there", f.tools[i])
				proc.Kill()
			}
		}
		if !p.settled() {
			return
		}
		session.mu.Lock()
		defer session.mu.Unlock()
		if left := fmt.Sprint(len(session.requests), session.answering, len(session.queue), len(session.serverRequests), len(session.workers)); left != "0 0 0 0 0" {
			t.Error("the tables are not empty: " + left)
		}
		if !session.client.proxy.Memory.Share(0).Take(mcpproxy.Memory / 2) { // there is room for half only if nothing is taken
			t.Error("memory was not given back")
		}
	})
	return p
}

const (
	clientHello = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
	initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
)

// greet takes the session through the client's handshake.
func (p *play) greet() {
	p.t.Helper()
	p.send(clientHello, initialized)
	if l := p.line(); !json.Valid([]byte(l)) || !hasID(l, "0") {
		p.t.Fatalf("initialize was answered with %q", l)
	}
}

func hasID(line, id string) bool {
	var m struct{ ID json.RawMessage }
	return json.Unmarshal([]byte(line), &m) == nil && string(m.ID) == id
}

func callOf(id, tool, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, tool, arguments)
}

var errExec = &confine.StartError{Step: confine.StepExec, Errno: syscall.ENOENT, Detail: "/no/such/program"}
