package table

import (
	"errors"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// TestChanges shows what becomes of files that people have written.
func TestChanges(t *testing.T) {
	const head = "[servers.x]\ncommand = \"a\"\n"
	rule := func(fields string) string {
		return head + "\n[[servers.x.access.fs]]\n" + strings.ReplaceAll(fields, ";", "\n") + "\n"
	}
	for _, c := range []struct {
		name, before, flags, after string
		remove                     bool
	}{
		{"a right after the path", rule(`path = "d";read = true`), "--write d", rule(`path = "d";write = true;read = true`), false},
		{"two rights", rule(`path = "d";read = true`), "--write d --execute d", rule(`path = "d";write = true;execute = true;read = true`), false},
		{"before the path, where it would look new", rule(`path = "d";write = true`), "--read d", rule(`read = true;path = "d";write = true`), false},
		{"in braces", head + "access.fs = [{path='d',read=true}]\n", "--write d", head + "access.fs = [{path='d', write = true,read=true}]\n", false},
		{"the parts that are missing", rule(`path = "d";read = true;create = true`), "--write d", rule(`path = "d";update = true;delete = true;read = true;create = true`), false},
		{"another spelling of the path", rule(`path = "./d/";read = true`), "--write d", rule(`path = "./d/";write = true;read = true`), false},
		{"a refusal stays", rule(`path = "d"`), "--read d", rule(`path = "d"`) + "\n[[servers.x.access.fs]]\npath = \"d\"\nread = true\n", false},
		{"a right that is refused stays so", rule(`path = "d";read = true;write = false`), "--write d", rule(`path = "d";read = true;write = false`) + "\n[[servers.x.access.fs]]\npath = \"d\"\nread = true\nwrite = true\n", false},
		{"the rights of the rule around it", rule(`path = "d";read = true;write = true`), "--execute d/bin", rule(`path = "d";read = true;write = true`) + "\n[[servers.x.access.fs]]\npath = \"d/bin\"\nread = true\nwrite = true\nexecute = true\n", false},
		{"but not for a protected name", rule(`path = ".";read = true;write = true`), "--execute .git/hooks", rule(`path = ".";read = true;write = true`) + "\n[[servers.x.access.fs]]\npath = \".git/hooks\"\nread = true\nexecute = true\n", false},
		{"the home is not in the workspace", rule(`path = ".";read = true;write = true`), "--execute ~/bin", rule(`path = ".";read = true;write = true`) + "\n[[servers.x.access.fs]]\npath = \"~/bin\"\nread = true\nexecute = true\n", false},
		{"a limit is set anew", head + "[servers.x.limits]\nmemory_mb = 100 # MiB\n", "--limit memory_mb=200", head + "[servers.x.limits]\nmemory_mb = 200 # MiB\n", false},
		{"a workspace is set anew", head + "workspace = '/a' # here\n", "--workspace /b", head + "workspace = \"/b\" # here\n", false},
		{"a variable", head + "variables = [\n  \"A\" # one\n]\n", "--env B", head + "variables = [\n  \"A\", # one\n  \"B\"\n]\n", false},

		{"a rule that people wrote", rule(`path = "d";read = true;write = true`) + "[[servers.x.access.fs]]\npath = \"e\"\nread = true\n", "--write d", head + "[[servers.x.access.fs]]\npath = \"e\"\nread = true\n", true},
		{"a right of several", rule(`path = "d";read = true;write = true;execute = true`), "--execute d", rule(`path = "d";read = true;write = true`), true},
		{"in another order", rule(`read = true;write = true;path = "d"`) + "\n[servers.y]\ncommand = \"b\"\n", "--write d", head + "\n[servers.x.access]\nfs = []\n\n[servers.y]\ncommand = \"b\"\n", true},
		{"the first of a list", head + "access.fs = [{path='a',read=true}, {path='b',read=true}]\n", "--read a", head + "access.fs = [{path='b',read=true}]\n", true},
		{"a line of a list", head + "[servers.x.access]\nfs = [\n  {path='a',read=true}, # a\n  {path='b',read=true}, # b\n  {path='c',read=true}, # c\n]\n", "--read b", head + "[servers.x.access]\nfs = [\n  {path='a',read=true}, # a\n  {path='c',read=true}, # c\n]\n", true},
		{"all of a list", head + "access.fs = [ {path='a',read=true} ]\n", "--read a", head + "\n[servers.x.access]\nfs = []\n", true},
		{"the host of a list", head + "[servers.x.access]\nnet = [{host='a.example', allow=true}, {host='b.example', port=90, allow=true}]\n", "--net b.example:90", head + "[servers.x.access]\nnet = [{host='a.example', allow=true}]\n", true},
		{"a variable of several", head + "variables = ['A', 'B', 'C']\n", "--env B", head + "variables = ['A', 'C']\n", true},
		{"a setting", head + "workspace = '/a' # here\nhome = 'real'\n", "--workspace /a", head + "home = 'real'\n", true},
	} {
		got, err := Change{File: "c.toml", Server: "x", Flags: strings.Fields(c.flags), Remove: c.remove}.Apply([]byte(c.before))
		if err != nil || string(got.Text) != c.after {
			t.Errorf("%s, %s: %v\n%s\nbecomes\n%s\nwant\n%s", c.name, c.flags, err, c.before, got.Text, c.after)
		}
	}
}

// TestSaid tests what is said of a grant that is there already, or that another rule still gives.
func TestSaid(t *testing.T) {
	const text = "[servers.x]\ncommand = \"a\"\nvariables = [\"A\"]\n[[servers.x.access.fs]]\npath = \"d\"\nread = true\nwrite = true\n[[servers.x.access.fs]]\npath = \"d/e\"\nread = true\nwrite = true\n[[servers.x.access.net]]\nhost = \"*\"\nallow = true\n"
	for _, c := range []struct {
		flags, already, still string
		remove                bool
	}{
		{"--read d", `c.toml:4: path = "d"`, "", false},
		{"--write d/f", `c.toml:4: path = "d"`, "", false},
		{"--net a.example", `c.toml:12: host = "*"`, "", false},
		{"--env A", `c.toml:3: name = "A"`, "", false},
		{"--write d/e", "", `c.toml:4: path = "d"`, true},
		{"--read d/f", "", `c.toml:4: path = "d"`, true},
		{"--net a.example", "", `c.toml:12: host = "*"`, true},
	} {
		got, err := Change{File: "c.toml", Server: "x", Flags: strings.Fields(c.flags), Remove: c.remove}.Apply([]byte(text))
		if err != nil || strings.Join(got.Already, "; ") != c.already || strings.Join(got.Still, "; ") != c.still || c.already != "" && string(got.Text) != text {
			t.Errorf("%s, remove %v: %q, %q, %v", c.flags, c.remove, got.Already, got.Still, err)
		}
	}
}

// TestRefused tests the errors of changes that are not made.
func TestRefused(t *testing.T) {
	const text = "[servers.x]\ncommand = \"a\"\naccess.fs = [{path = \"d\", read = true}]\n[servers.calls]\ncommand = \"a\"\nstateful = false\n[[servers.calls.tools.\"*\".access.fs]]\npath = \"d\"\nread = true\n[servers.narrow]\ncommand = \"a\"\naccess.fs = [{path = \"d\", read = true, write = true}, {path = \"d/e\", read = true}]\n"
	for _, c := range []struct {
		server, tool, flags, lines, want string
		remove                           bool
	}{
		{"x", "", "--reed d", "", "unknown flag --reed", false},
		{"x", "", "--read d --name y", "", "--name is not a grant", false},
		{"x", "", "--waive fs", "", "--waive", false},
		{"x", "", "y", "", "unexpected argument y", false},
		{"x", "", "--read **", "", "there are no globs", false},
		{"y", "", "--read d", "", `no server "y"`, false},
		{"x", "t", "--read d", "", "is stateful", false},
		{"calls", "", "--read d", "", "name the tool", false},
		{"calls", "t", "--read e", "", "it cannot be added by itself: c.toml:4: add `[[servers.calls.tools.t.access.fs]], path = \"e\", read = true` (the server would lose rights at d: read; the tool has the rules of the table for all tools", false},
		{"x", "", "--deny d", "", "take that back first", false},
		{"narrow", "", "--read d/e", "", "without it, a rule around d/e would give more there: write", true},
		{"x", "", "--read e", "", "the path e is not granted to x", true},
		{"x", "", "--net e.example", "", "the host e.example is not granted to x", true},
		{"x", "", "--env E", "", "the variable E is not granted to x", true},
		{"x", "", "--limit memory_mb=9", "", "limits.memory_mb = 9 is not granted to x", true},
		{"x", "", "", "[servers.y]\ncommand = \"b\"\n", "not for the server x", false},
	} {
		got, err := Change{File: "c.toml", Server: c.server, Tool: c.tool, Flags: strings.Fields(c.flags), Lines: c.lines, Remove: c.remove}.Apply([]byte(text))
		if err == nil || !strings.Contains(err.Error(), c.want) || got.Text != nil {
			t.Errorf("%s %s %s: %v, want %s\n%s", c.server, c.tool, c.flags, err, c.want, got.Text)
		}
	}
	// A grant that the policy of all files does not get is not written.
	c := Change{File: "c.toml", Server: "x", Flags: []string{"--read", "e"}}
	cfg, err := config.Decode([]byte(text), "c.toml")
	if err != nil {
		t.Fatal(err)
	}
	was, err := cfg.Policy("x", "")
	if err != nil {
		t.Fatal(err)
	}
	c.Policy = func([]byte) (*policy.Policy, error) { return was, nil }
	byHand := (*ByHandError)(nil)
	if _, err := c.Apply([]byte(text)); !errors.As(err, &byHand) || !strings.Contains(err.Error(), "the path e would not be granted") {
		t.Errorf("%v", err)
	}
}

// TestLines grants the lines of a diagnosis.
func TestLines(t *testing.T) {
	const before = "[servers.x]\ncommand = \"a\"\n[servers.x.access.commands.git]\n"
	lines := "[servers.x.access.commands.sh]\nargs = [[\"-c\"]]\n\n[[servers.x.access.net]]\nhost = \"api.example\"\npath_prefix = \"/v1\"\nmethods = [\"GET\"]\nallow = true\n"
	c := Change{File: "c.toml", Server: "x", Lines: lines}
	got, err := c.Apply([]byte(before))
	if want := before + "\n" + lines; err != nil || string(got.Text) != want {
		t.Fatalf("%v\n%s\nwant\n%s", err, got.Text, want)
	}
	c.Remove = true
	if back, err := c.Apply(got.Text); err != nil || string(back.Text) != before {
		t.Errorf("%v\n%s", err, back.Text)
	}
	c.Remove, c.Lines = false, "[servers.x.access.commands.git]\nargs = [[\"log\"]]\n"
	if got, err := c.Apply([]byte(before)); err != nil || string(got.Text) != before || len(got.Already) != 1 {
		t.Errorf("%v, %q\n%s", err, got.Already, got.Text)
	}
}
