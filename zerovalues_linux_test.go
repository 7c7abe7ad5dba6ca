package house_test

import (
	"context"
	"errors"
	"io"
	"os"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/lifecycle"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
	"github.com/mcp-jail/mcp-jail/undo"
)

// TestZeroValues tests what Go programs rely on that forget to set a value: the zero value is the strict one.
func TestZeroValues(t *testing.T) {
	for what, strict := range map[string]bool{
		"a variable is not read":   !policy.EnvRule{}.Read,
		"a host is not granted":    !policy.NetRule{}.Allow,
		"a rule grants nothing":    policy.FsRule{}.Rights() == 0,
		"a verdict forbids":        policy.Verdict(0) == policy.Forbidden,
		"a feature is not there":   confine.Feature{}.Answer != confine.Yes,
		"a self-test was not made": !confine.SelfTest{}.Made,
	} {
		if !strict {
			t.Errorf("not so: %s", what)
		}
	}
	for _, plan := range []*confine.Plan{{}, {Gaps: []confine.Gap{{}}}} {
		if process, err := (confine.Launcher{}).StartPlan(t.Context(), plan, confine.Stdio{}); err == nil || process != nil {
			t.Errorf("a plan with nothing but %v starts", plan.Gaps)
		}
	}
	for what, use := range map[string]func(){
		"a redactor passes a text": func() { new(diagnostics.Redactor).Redact("a text that is not redacted") },
		"a restorer restores":      func() { new(undo.Restorer).Run() },
		"a writer writes":          func() { new(mcpproxy.Writer).Inject([]byte("{}")) },
	} {
		if !panics(use) {
			t.Errorf("without its constructor %s", what)
		}
	}
}

func panics(use func()) (does bool) {
	defer func() { does = recover() != nil }()
	use()
	return false
}

// TestZeroPolicy tests that limits of 0 are the defaults, and that limits below 0 are refused.
func TestZeroPolicy(t *testing.T) {
	host, err := hostfs.LocalHost()
	testkit.Must(t, err)
	if _, _, err := resolve.Resolve(&policy.Policy{}, host); err == nil {
		t.Error("a policy without a server resolves")
	}
	p := policy.Policy{Server: "s", Command: "sh"}
	profile, _, err := resolve.Resolve(&p, host)
	testkit.Must(t, err)
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
}

// TestZeroProfile tests that a profile without entries allows nothing, and that one without a program is
// not started.
func TestZeroProfile(t *testing.T) {
	p := &policy.Profile{}
	for op := policy.Op(0); op <= policy.OpRemove; op++ {
		if p.Allows(op, "/tmp/x") || p.Allows(op, "/") {
			t.Errorf("it allows to %s", op)
		}
	}
	if process, err := (confine.Launcher{}).Start(t.Context(), p, confine.Stdio{}); !isStartError(err) || process != nil {
		t.Errorf("Start: %v", err)
	}
}

func isStartError(err error) bool {
	var failed *confine.StartError
	return errors.As(err, &failed)
}

// TestZeroSession tests that a session without a profile, and a tool without one, start nothing, though a
// client calls a tool.
func TestZeroSession(t *testing.T) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	testkit.Must(t, err)
	defer null.Close()
	s := lifecycle.Session{In: null, Out: null, Err: null}
	if _, err := lifecycle.RunStateful(t.Context(), s); !isStartError(err) {
		t.Errorf("a session: %v", err)
	}
	tool := func(p *policy.Profile) func(string, bool) (lifecycle.Tool, error) {
		return func(string, bool) (lifecycle.Tool, error) { return lifecycle.Tool{Profile: p}, nil }
	}
	for name, c := range map[string]struct {
		tools  lifecycle.Stateless
		starts bool
	}{
		"zero": {}, "a zero tool": {lifecycle.Stateless{Tool: tool(nil)}, false}, "the control": {lifecycle.Stateless{Tool: tool(new(policy.Profile))}, true},
	} {
		in, client, err := os.Pipe()
		testkit.Must(t, err)
		io.WriteString(client, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"x","arguments":{}}}
`)
		client.Close()
		started := make(chan bool, 9)
		s.In = in
		s.Launcher = lifecycle.LauncherFunc(func(context.Context, *policy.Profile, confine.Stdio) (lifecycle.Process, error) {
			started <- true
			return nil, errors.New("it is started")
		})
		lifecycle.RunStateless(t.Context(), s, c.tools)
		in.Close()
		if (len(started) > 0) != c.starts {
			t.Errorf("%s: a stateless session starts %d processes", name, len(started))
		}
	}
}

// TestZeroStore tests that a store without a directory is not the working directory.
func TestZeroStore(t *testing.T) {
	t.Chdir(t.TempDir())
	if w, err := (undo.Store{}).Begin(undo.Head{}); err == nil || w != nil {
		t.Error("Begin makes a session")
	}
	if made, err := os.ReadDir("."); err != nil || len(made) != 0 {
		t.Errorf("the working directory has %v %v", made, err)
	}
}
