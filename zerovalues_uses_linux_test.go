package house_test

import (
	"context"
	"errors"
	"io"
	"os"
	"sync/atomic"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/lifecycle"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
	"github.com/mcp-jail/mcp-jail/undo"
)

func is(t *testing.T, strict bool) {
	t.Helper()
	if !strict {
		t.Error("the zero value is not the strict one")
	}
}

// panics tests that a type that only a constructor makes does nothing without it.
func panics(t *testing.T, use func()) {
	t.Helper()
	defer func() {
		if recover() == nil {
			t.Error("it does something")
		}
	}()
	use()
}

// zeroPolicy tests that limits of 0 are the defaults, and that limits below 0 are refused.
func zeroPolicy(t *testing.T) {
	host, err := hostfs.LocalHost()
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := resolve.Resolve(&policy.Policy{}, host); err == nil {
		t.Error("a policy without a server resolves")
	}
	p := policy.Policy{Server: "s", Command: "sh"}
	profile, _, err := resolve.Resolve(&p, host)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range profile.Entries {
		if e.Origin == policy.OriginRule && e.Rights != 0 {
			t.Errorf("a policy without rules grants %s %s", e.Rights, e.Path)
		}
	}
	if profile.Limits != policy.DefaultLimits || len(profile.Net) != 0 || len(profile.Waive) != 0 {
		t.Errorf("limits %+v, net %v, waive %v", profile.Limits, profile.Net, profile.Waive)
	}
	for _, l := range []policy.Limits{{MemoryMB: -1}, {Processes: -1}, {OpenFiles: -1}, {FileSizeMB: -1}, {MessageMB: -1}, {MemoryMB: 1 << 40}} {
		p.Limits = l
		if _, _, err := resolve.Resolve(&p, host); err == nil {
			t.Errorf("the limits %+v resolve", l)
		}
		if _, err := (confine.Launcher{}).Start(t.Context(), &policy.Profile{Program: "/bin/true", Limits: l}, confine.Stdio{}); !isStartError(err) {
			t.Errorf("the limits %+v: %v", l, err)
		}
	}
	plan, _ := confine.Launcher{}.Compile(&policy.Profile{Program: "/bin/true", Limits: policy.Limits{OpenFiles: 77}})
	if want := (policy.Limits{MemoryMB: 4096, Processes: 512, OpenFiles: 77, FileSizeMB: 1024, MessageMB: 64}); plan == nil || plan.Profile.Limits != want {
		t.Errorf("a plan has the limits %+v", plan.Profile.Limits)
	}
}

// zeroProfile tests that a profile without entries allows nothing, and that one without a program is
// not started.
func zeroProfile(t *testing.T) {
	p := &policy.Profile{}
	for op := policy.Op(0); op <= policy.OpRemove; op++ {
		if p.Allows(op, "/tmp/x") || p.Allows(op, "/") {
			t.Errorf("it allows to %s", op)
		}
	}
	if _, err := (confine.Launcher{}).Compile(p); !isStartError(err) {
		t.Errorf("Compile: %v", err)
	}
	if process, err := (confine.Launcher{}).Start(t.Context(), p, confine.Stdio{}); !isStartError(err) || process != nil {
		t.Errorf("Start: %v", err)
	}
}

func isStartError(err error) bool {
	var failed *confine.StartError
	return errors.As(err, &failed)
}

func failsStart(t *testing.T, p *confine.Plan) {
	t.Helper()
	if process, err := (confine.Launcher{}).StartPlan(t.Context(), p, confine.Stdio{}); err == nil || process != nil {
		t.Errorf("it starts: %v", process)
	}
}

// zeroSession tests that a session without a profile, and a tool without one, start nothing, though a
// client calls a tool.
func zeroSession(t *testing.T) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	s := lifecycle.Session{In: null, Out: null, Err: null}
	if _, err := lifecycle.RunStateful(t.Context(), s); !isStartError(err) {
		t.Errorf("a session: %v", err)
	}
	tool := func(p *policy.Profile) func(string) (lifecycle.Tool, error) {
		return func(string) (lifecycle.Tool, error) { return lifecycle.Tool{Profile: p}, nil }
	}
	for name, o := range map[string]lifecycle.Stateless{"zero": {}, "a zero tool": {Tool: tool(nil)}, "the control": {Tool: tool(new(policy.Profile))}} {
		in, client, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(client, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"x","arguments":{}}}
`)
		client.Close()
		var started atomic.Int32
		s.In = in
		s.Launcher = lifecycle.LauncherFunc(func(context.Context, *policy.Profile, confine.Stdio) (lifecycle.Process, error) {
			started.Add(1)
			return nil, errors.New("it is started")
		})
		lifecycle.RunStateless(t.Context(), s, o)
		in.Close()
		if (started.Load() > 0) != (name == "the control") {
			t.Errorf("%s: a stateless session starts %d processes", name, started.Load())
		}
	}
}

// zeroStore tests that a store without a directory is not the working directory.
func zeroStore(t *testing.T) {
	t.Chdir(t.TempDir())
	if w, err := (undo.Store{}).Begin(undo.Head{}); err == nil || w != nil {
		t.Error("Begin makes a session")
	}
	if made, err := os.ReadDir("."); err != nil || len(made) != 0 {
		t.Errorf("the working directory has %v %v", made, err)
	}
}
