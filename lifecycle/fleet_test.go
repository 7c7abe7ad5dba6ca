//go:build unix

package lifecycle

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/lifecycle/catalog"
	"github.com/mcp-jail/mcp-jail/policy"
)

// fleet starts a server of this binary for each process, unconfined. What it is to
// run for a tool stands in servers; "" is the discovery's, and that of every tool
// that is not mentioned.
type fleet struct {
	servers map[string]string
	errs    map[string]error // instead
	denials map[string][]confine.Denial

	mu    sync.Mutex
	procs []*fakeProcess
	tools []string // of the processes, in the order of their start
}

func (f *fleet) Start(_ context.Context, p *policy.Profile, stdio confine.Stdio) (Process, error) {
	if err := f.errs[p.Tool]; err != nil {
		return nil, err
	}
	server := f.servers[p.Tool]
	if server == "" {
		server = f.servers[""]
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "MCP_JAIL_TEST_SERVER="+server, "MCP_JAIL_TEST_TOOL="+p.Tool, "GORACE=atexit_sleep_ms=0")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdio.In, stdio.Out, stdio.Err
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	proc := &fakeProcess{cmd: cmd, done: make(chan struct{}), fake: &fake{denials: f.denials[p.Tool]}}
	f.mu.Lock()
	f.procs = append(f.procs, proc)
	f.tools = append(f.tools, p.Tool)
	f.mu.Unlock()
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
	before := runtime.NumGoroutine()
	p := &play{t: t, fake: &fake{}, stderr: make(chan string, 1), status: make(chan int, 1)}
	pipe := func() (r, w *os.File) {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		p.files = append(p.files, r, w)
		return r, w
	}
	var s Session
	var errR, errW *os.File
	s.In, p.in = pipe()
	p.out, s.Out = pipe()
	errR, errW = pipe()
	s.Err = errW
	p.lines = bufio.NewReaderSize(p.out, 1<<20)
	s.Launcher = f
	s.Profile = &policy.Profile{Server: "test", Startup: 20 * time.Second, Limits: policy.DefaultLimits}
	s.times.idle, s.times.rest, s.times.tick = 100*time.Millisecond, 200*time.Millisecond, 50*time.Millisecond
	s.Sink = func(r diagnostics.Record) { p.record = r }
	o := Stateless{Catalog: &catalog.Catalog{}, Version: "test", Tool: func(name string) (Tool, error) {
		profile := *s.Profile
		profile.Tool = name
		return Tool{Profile: &profile}, nil
	}}
	if change != nil {
		change(&s, &o)
	}
	go func() {
		b, _ := io.ReadAll(errR)
		p.stderr <- string(b)
	}()
	var ctx context.Context
	ctx, p.cancel = context.WithCancel(context.Background())
	go func() {
		status := RunStateless(ctx, s, o)
		errW.Close()
		s.Out.Close()
		p.status <- status
	}()
	t.Cleanup(func() {
		p.cancel()
		for _, f := range p.files {
			f.Close()
		}
		f.mu.Lock()
		procs := f.procs
		f.mu.Unlock()
		for i, proc := range procs {
			select {
			case <-proc.done:
			case <-time.After(2 * time.Second):
				t.Errorf("a process of %q is still there", f.tools[i])
				proc.Kill()
			}
		}
		for range 100 {
			if runtime.NumGoroutine() <= before {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
		stacks := make([]byte, 1<<20)
		t.Errorf("goroutines are left:\n%s", stacks[:runtime.Stack(stacks, true)])
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

// shop is a test server of the legacy era with the tools echo, slow, ask, crash,
// never, deny. The answer to a call tells which process it is and how many calls it
// has had.
func shop() {
	calls := 0
	greeted := false
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	reply := func(id json.RawMessage, result string) {
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", id, result)
	}
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var m struct {
			message
			Result json.RawMessage
		}
		if json.Unmarshal(line, &m) != nil {
			continue
		}
		var call struct {
			Name      string
			Arguments json.RawMessage
			Meta      struct {
				Token json.RawMessage `json:"progressToken"`
			} `json:"_meta"`
		}
		json.Unmarshal(m.Params, &call)
		text := func(s string) string {
			return fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`, fmt.Sprintf("%s pid=%d calls=%d env=%s", s, os.Getpid(), calls, os.Getenv("MCP_JAIL_TEST_TOOL")))
		}
		switch m.Method {
		case "initialize":
			greeted = true
			reply(m.ID, `{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"logging":{},"resources":{"subscribe":true,"listChanged":true},"tasks":{}},"serverInfo":{"name":"shop","version":"1"}}`)
		case "tools/list":
			reply(m.ID, `{"tools":[{"name":"echo"},{"name":"slow"},{"name":"ask"},{"name":"crash"},{"name":"never"},{"name":"progress"}]}`)
		case "resources/list":
			reply(m.ID, `{"resources":[]}`)
		case "logging/setLevel":
			fmt.Fprintf(os.Stderr, "level %s\n", m.Params)
			reply(m.ID, `{}`)
		case "tools/call":
			calls++
			if !greeted {
				fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32600,"message":"not initialized"}}`+"\n", m.ID)
				continue
			}
			switch call.Name {
			case "echo":
				reply(m.ID, text(string(call.Arguments)))
			case "slow":
				time.Sleep(300 * time.Millisecond)
				reply(m.ID, text("slow"))
			case "crash":
				fmt.Fprintln(os.Stderr, "panic: out of luck")
				os.Exit(5)
			case "progress":
				fmt.Printf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1}}`+"\n", call.Meta.Token)
				reply(m.ID, text("done"))
			case "ask":
				fmt.Println(`{"jsonrpc":"2.0","id":0,"method":"sampling/createMessage","params":{"_meta":{"progressToken":0}}}`)
				var answer struct {
					ID     json.RawMessage
					Result json.RawMessage
				}
				line, _ := in.ReadBytes('\n')
				json.Unmarshal(line, &answer)
				reply(m.ID, text(fmt.Sprintf("id=%s result=%s", answer.ID, answer.Result)))
			case "never":
			}
		case "notifications/cancelled":
			fmt.Fprintf(os.Stderr, "cancelled %s\n", m.Params)
		}
	}
}

var errExec = &confine.StartError{Step: confine.StepExec, Errno: syscall.ENOENT, Detail: "/no/such/program"}

var _ = errors.New
