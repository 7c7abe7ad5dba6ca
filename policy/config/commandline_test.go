package config

import (
	"reflect"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestDeclare: what the flags say, written as a configuration, is the same policy.
func TestDeclare(t *testing.T) {
	for _, o := range []CommandLineOptions{
		{Command: []string{"node", "s.js", "--a b"}},
		{Command: []string{"/usr/bin/node"}, Env: []string{"A"}, Home: "real", Name: "n", Limit: []string{"memory_mb=8192"}, Waive: []policy.Axis{policy.AxisIPC}},
		{Command: []string{"node"}, Read: []string{"a", "b"}, Write: []string{".", "b"}, Execute: []string{"./run", "b"}, Net: []string{"h.test:8443", "[::1]:80"}},
	} {
		o.Dir = "/home/u/proj"
		want, err := FromCommandLine(o)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Join(o.Declaration(), "\n")
		c, err := Decode([]byte("version = 1\n"+text), "c.toml")
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		got, err := c.Policy(want.Server, "")
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range []*policy.Policy{got, want} {
			p.Where, p.FromCommandLine = "", false
			for i := range p.Fs {
				p.Fs[i].Where = ""
			}
			for i := range p.Net {
				p.Net[i].Where = ""
			}
			for i := range p.Env {
				p.Env[i].Where = ""
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("\n got %+v\nwant %+v\n%s", got, want, text)
		}
	}
	if got := (CommandLineOptions{Command: []string{"./serve"}, Dir: "/d"}).Declaration(); !strings.Contains(strings.Join(got, "\n"), `command = "/d/serve"`) {
		t.Errorf("a relative command is another one in a file: %q", got)
	}
}

// TestFlags: --execute reads and starts, one path has the rights of all of its flags,
// and --limit is read as the table is.
func TestFlags(t *testing.T) {
	p, err := FromCommandLine(CommandLineOptions{Command: []string{"x"}, Read: []string{"a", "b"}, Write: []string{"b", "c"}, Execute: []string{"c", "d", "a"}, Limit: []string{"processes=9", "memory_mb=1"}})
	if err != nil {
		t.Fatal(err)
	}
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
