package config

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestDeclare checks that Declared has a configuration with the same policy as the
// flags.
func TestDeclare(t *testing.T) {
	for _, o := range []CommandLineOptions{
		{Command: []string{"node", "s.js", "--a b"}},
		{Command: []string{"/usr/bin/node"}, Env: []string{"A"}, Home: "real", Name: "n", Limit: []string{"memory_mb=8192"}, Waive: []policy.Axis{policy.AxisIPC}},
		{Command: []string{"node"}, Read: []string{"a"}, Env: []string{"A_*"}},
		{Command: []string{"node"}, Write: []string{"."}, Deny: []string{"secret"}},
		{Command: []string{"node"}, Net: []string{"h.test"}, Inbound: []string{"19880", "3334"}},
		{Command: []string{"node"}, Read: []string{"a", "b"}, Write: []string{"out", "b"}, Execute: []string{"./run", "b"}, Net: []string{"h.test:8443", "[::1]:80"}},
	} {
		o.Dir = "/home/u/proj"
		want, err := FromCommandLine(o)
		testkit.Must(t, err)
		text := strings.Join(declaration(o), "\n")
		c, err := Decode([]byte("version = 1\n"+text), "c.toml")
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		got, err := c.Policy(want.Server, "")
		testkit.Must(t, err)
		for _, p := range []*policy.Policy{got, want} {
			p.Where, p.FromCommandLine, p.Settings = "", false, nil
			for i := range p.Fs {
				p.Fs[i].Where = ""
			}
			for i := range p.Net {
				p.Net[i].Where = ""
			}
			for i := range p.Env {
				p.Env[i].Where = ""
			}
			for i := range p.Inbound {
				p.Inbound[i].Where = ""
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("\n got %+v\nwant %+v\n%s", got, want, text)
		}
	}
	if got := declaration(CommandLineOptions{Command: []string{"./serve"}, Dir: "/d"}); !strings.Contains(strings.Join(got, "\n"), `command = "/d/serve"`) {
		t.Errorf("a relative command is not made absolute: %q", got)
	}
}

// TestFlags checks that --execute grants reading too, that a path has the rights of all of
// its flags, and that --limit is read like the limits table.
func TestFlags(t *testing.T) {
	p, err := FromCommandLine(CommandLineOptions{Command: []string{"x"}, Read: []string{"a", "b"}, Write: []string{"b", "c"}, Execute: []string{"c", "d", "a"}, Limit: []string{"processes=9", "memory_mb=1"}})
	testkit.Must(t, err)
	want := map[string]policy.Rights{"a": policy.Read | policy.Execute, "b": policy.Read | policy.Write, "c": policy.AllRights, "d": policy.Read | policy.Execute}
	for _, r := range p.Fs {
		if r.Rights() != want[r.Path] {
			t.Errorf("%s: %s, want %s", r.Path, r.Rights(), want[r.Path])
		}
		delete(want, r.Path)
	}
	if len(want) > 0 || p.Default || p.Limits.Processes != 9 || p.Limits.MemoryMB != 1 || p.Limits.OpenFiles != policy.DefaultLimits.OpenFiles {
		t.Errorf("left %v, limits %+v", want, p.Limits)
	}
	for _, limit := range []string{"memory_mb", "memory_mb=", "memory_mb=-1", "memory_mb=0", "memry_mb=1", "=1", "memory_mb=1\nprocesses=2", "memory_mb=99999999999999999999", "open_files=1", "a.b=1"} {
		if _, err := FromCommandLine(CommandLineOptions{Command: []string{"x"}, Limit: []string{limit}}); err == nil || !strings.HasPrefix(err.Error(), "--limit ") {
			t.Errorf("--limit %q: %v", limit, err)
		}
	}
	if p, _ := FromCommandLine(CommandLineOptions{Command: []string{"x"}, Limit: []string{"processes=9"}}); !p.Default {
		t.Error("a limit replaces the default policy")
	}
}

func TestFromCommandLine(t *testing.T) {
	p, err := FromCommandLine(CommandLineOptions{Command: []string{"npx", "-y", "@scope/server-x@1.2"}, Env: []string{"A"}})
	if err != nil || !p.Default || len(p.Fs) != 1 || len(p.Env) != 1 || p.Server != "server" || !p.Stateful {
		t.Errorf("default: %+v, %v", p, err)
	}
	p, err = FromCommandLine(CommandLineOptions{Command: []string{"x"}, Read: []string{"src"}, Write: []string{"out"}, Net: []string{"A.b:8080", "[::1]:80", "::1", "10.0.0.1"}, Name: "n", Home: "real", Waive: []policy.Axis{policy.AxisNet}})
	if err != nil || p.Default || p.Server != "n" || !p.HomeReal || len(p.Waive) != 1 {
		t.Fatalf("%+v, %v", p, err)
	}
	if p.Fs[0].Rights() != policy.Read || p.Fs[1].Rights() != policy.Read|policy.Write || p.Fs[1].Where != "--write out" {
		t.Errorf("fs %+v", p.Fs)
	}
	if p.Net[0].Host != "a.b" || p.Net[0].Port != 8080 || p.Net[1].Host != "::1" || p.Net[1].Port != 80 || p.Net[2].Host != "::1" || p.Net[2].Port != 0 {
		t.Errorf("net %+v", p.Net)
	}
	if p, _ = FromCommandLine(CommandLineOptions{Command: []string{"x"}, Net: []string{"a"}}); p.Default || len(p.Fs) != 0 {
		t.Errorf("--net replaces the default: %+v", p)
	}
	if p, err = FromCommandLine(CommandLineOptions{Command: []string{"x"}, Waive: []policy.Axis{"macos", "fs"}}); err != nil || fmt.Sprint(p.Waive) != "[fs macos]" {
		t.Errorf("--waive macos: %v, %v", p, err)
	}
	for want, o := range map[string]CommandLineOptions{
		"there is no command":                       {},
		"--net a:b: \"a:b\": the port":              {Command: []string{"x"}, Net: []string{"a:b"}},
		"--net a:99999":                             {Command: []string{"x"}, Net: []string{"a:99999"}},
		"--name ../x: a name consists":              {Command: []string{"x"}, Name: "../x"},
		"--home foo: must be":                       {Command: []string{"x"}, Home: "foo"},
		"--env A=B: a value is given after the nam": {Command: []string{"x"}, Env: []string{"A=B"}},
		"--waive all: must be one of fs, net":       {Command: []string{"x"}, Waive: []policy.Axis{"all"}},
		"--read : the path is empty":                {Command: []string{"x"}, Read: []string{""}},
		"--write ~x: \"~x\": only ~/ is understood": {Command: []string{"x"}, Write: []string{"~x"}},
		"COMMAND: the command contains a NUL":       {Command: []string{"x", "\x00"}},
	} {
		if _, err := FromCommandLine(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", o, err, want)
		}
	}
}

// TestDeny checks that --deny alone takes away from the default policy, and stays in the
// declaration.
func TestDeny(t *testing.T) {
	o := CommandLineOptions{Command: []string{"node"}, Deny: []string{"secret"}, Dir: "/p"}
	p, err := FromCommandLine(o)
	if err != nil || !p.Default || len(p.Fs) != 2 || p.Fs[1].Path != "secret" || p.Fs[1].Rights() != 0 {
		t.Errorf("%+v, %v", p, err)
	}
	c, err := Decode([]byte(strings.Join(declaration(o), "\n")), "c.toml")
	testkit.Must(t, err)
	if p, err = c.Policy(p.Server, ""); err != nil || len(p.Fs) != 2 || p.Fs[0].Path != "." || p.Fs[0].Rights() == 0 || p.Fs[1].Rights() != 0 {
		t.Errorf("declared: %+v, %v", p, err)
	}
	for _, o := range []CommandLineOptions{{Read: []string{"a"}, Deny: []string{"a"}}, {Deny: []string{"a", "a"}}, {Deny: []string{"\x00"}}} {
		o.Command = []string{"node"}
		if _, err := FromCommandLine(o); err == nil || !strings.Contains(err.Error(), "--deny") {
			t.Errorf("%q: %v", o.Deny, err)
		}
	}
}

// TestInbound checks that --inbound alone adds a port to the default policy, that its declaration in
// a file has the same policy, and that a port is checked as one in a file is.
func TestInbound(t *testing.T) {
	given := func(o CommandLineOptions) (*policy.Policy, *policy.Policy) {
		t.Helper()
		o.Command, o.Dir = []string{"node"}, "/p"
		p, err := FromCommandLine(o)
		testkit.Must(t, err)
		c, err := Decode([]byte(strings.Join(declaration(o), "\n")), "c.toml")
		testkit.Must(t, err)
		declared, err := c.Policy(p.Server, "")
		testkit.Must(t, err)
		return p, declared
	}
	p, declared := given(CommandLineOptions{Inbound: []string{"19880"}})
	if !p.Default || !reflect.DeepEqual(p.InboundPorts(), []int{19880}) || len(p.Fs) != 1 || p.Fs[0].Rights() != policy.Read|policy.Write {
		t.Errorf("alone: %+v", p)
	}
	if !reflect.DeepEqual(declared.InboundPorts(), []int{19880}) || len(declared.Fs) != 1 || declared.Fs[0].Path != "." || declared.Fs[0].Rights() != policy.Read|policy.Write {
		t.Errorf("alone, declared: %+v", declared)
	}
	p, declared = given(CommandLineOptions{Inbound: []string{"19880"}, Deny: []string{"secret"}})
	for _, p := range []*policy.Policy{p, declared} {
		if len(p.InboundPorts()) != 1 || len(p.Fs) != 2 || p.Fs[0].Rights() == 0 || p.Fs[1].Rights() != 0 {
			t.Errorf("with --deny: %+v", p)
		}
	}
	if p, declared = given(CommandLineOptions{Inbound: []string{"19880"}, Net: []string{"a.test"}}); p.Default || len(p.Fs)+len(declared.Fs) != 0 {
		t.Errorf("with --net: %+v, declared %+v", p, declared)
	}
	for _, bad := range []string{"0", "-1", "65536", "x", "", "80 ", "0x50", "+80", "080", "3334/tcp"} {
		_, err := FromCommandLine(CommandLineOptions{Command: []string{"x"}, Inbound: []string{bad}})
		if err == nil || !strings.HasPrefix(err.Error(), "--inbound "+bad) {
			t.Errorf("--inbound %q: %v", bad, err)
		}
	}
	_, err := FromCommandLine(CommandLineOptions{Command: []string{"x"}, Net: []string{"a.test:8443"}, Inbound: []string{"8443"}})
	if err == nil || err.Error() != "--inbound 8443: inbound: port 8443 leads to a.test as well (--net a.test:8443): the server cannot listen on it" {
		t.Errorf("a port that leads out as well: %v", err)
	}
}

// declaration returns the lines of a configuration that declare a server of the command line.
func declaration(o CommandLineOptions) []string {
	s, err := o.Declared()
	if err != nil {
		return nil
	}
	c := Config{Servers: map[string]*Server{s.Name: s}}
	return strings.Split(strings.TrimSpace(string(c.Encode())), "\n")
}
