package config

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// usersServer is a server of the user's own layer with one grant and one refusal of every
// kind.
const usersServer = `
[servers.s]
command = "/usr/bin/mine"
arguments = ["--token", "tok"]
workspace = "/home/u/notes"
variables = ["TOK"]
home = "real"
waive = ["process"]
call_timeout_secs = 7
limits = { memory_mb = 9000, processes = 20 }
[servers.s.access]
sensitive_paths = ["~/diary"]
fs = [{ path = "~/notes", read = true }, { path = "~/notes/private", deny = true }]
net = [{ host = "api.github.com", allow = true, secret = { env = "KEY" } }, { host = "gist.github.com" }]
inbound = [{ port = 3334 }]
env = [{ name = "GH_*", read = true }, { name = "GH_DEBUG" }]
`

// mergedWith returns the user's configuration merged with a trusted project file, and the
// policy of the server "s".
func mergedWith(t *testing.T, users, project string) (*Config, *policy.Policy) {
	t.Helper()
	o, file := layersIn(t)
	testkit.WriteFile(t, o.User, users)
	if err := (TrustStore{Path: o.Trust}).Trust(file, testkit.WriteFile(t, file, project)); err != nil {
		t.Fatal(err)
	}
	c, err := Load(o)
	if err != nil {
		t.Fatal(err)
	}
	p, err := c.Policy("s", "")
	if err != nil {
		t.Fatal(err)
	}
	return c, p
}

func granted(p *policy.Policy) (out []string) {
	for _, r := range p.Fs {
		if r.Rights() != 0 {
			out = append(out, r.Path)
		}
	}
	for _, r := range p.Net {
		if r.Allow {
			out = append(out, r.Host)
		}
	}
	for _, r := range p.Env {
		if r.Read {
			out = append(out, r.Name)
		}
	}
	for _, r := range p.Inbound {
		out = append(out, fmt.Sprint(r.Port))
	}
	for _, axis := range p.Waive {
		out = append(out, string(axis))
	}
	return out
}

// TestProjectTakesNothingOver checks that a project that replaces the user's server does
// not get the grants of that server.
func TestProjectTakesNothingOver(t *testing.T) {
	for project, want := range map[string]struct {
		argv, granted []string
	}{
		"command = '/bin/sh'\narguments = ['./srv.sh']":     {[]string{"/bin/sh", "./srv.sh"}, []string{"."}},
		"command = '/bin/sh'":                               {[]string{"/bin/sh"}, []string{"."}},
		"arguments = ['./x']":                               {[]string{"/usr/bin/mine", "./x"}, []string{"."}},
		"variables = ['NODE_OPTIONS']":                      {[]string{"/usr/bin/mine", "--token", "tok"}, []string{".", "NODE_OPTIONS"}},
		"workspace = 'evil'":                                {[]string{"/usr/bin/mine", "--token", "tok"}, []string{"."}},
		"command = 'x'\naccess.fs = [{path='a',read=true}]": {[]string{"x"}, []string{"a"}},
		"command = 'x'\naccess.net = [{host='a',allow=true}]\nlimits.memory_mb = 9001": {[]string{"x"}, []string{"a"}},
	} {
		c, p := mergedWith(t, usersServer, "[servers.s]\n"+project+"\n")
		if got := append([]string{p.Command}, p.Arguments...); !reflect.DeepEqual(got, want.argv) {
			t.Errorf("%s: runs %q, want %q", project, got, want.argv)
		}
		if got := granted(p); !reflect.DeepEqual(got, want.granted) {
			t.Errorf("%s: is granted %q, want %q", project, got, want.granted)
		}
		if p.HomeReal || p.Workspace == "/home/u/notes" || p.Default == strings.Contains(project, "access") {
			t.Errorf("%s: %+v", project, p)
		}
		if memory := p.Limits.MemoryMB; memory != policy.DefaultLimits.MemoryMB && !strings.Contains(project, "9001") {
			t.Errorf("%s: memory_mb = %d", project, memory)
		}
		// The user's refusals stay.
		var refused []string
		for _, r := range p.Fs {
			if r.Rights() == 0 {
				refused = append(refused, r.Path)
			}
		}
		for _, r := range p.Net {
			if !r.Allow {
				refused = append(refused, r.Host)
			}
		}
		for _, r := range p.Env {
			if !r.Read {
				refused = append(refused, r.Name)
			}
		}
		if got := strings.Join(append(refused, p.Sensitive...), " "); got != "~/notes/private gist.github.com GH_DEBUG ~/diary" || p.Limits.Processes != 20 {
			t.Errorf("%s: refuses %s, processes %d", project, got, p.Limits.Processes)
		}
		if w := c.DroppedGrants("s"); len(w) != 1 || !strings.HasSuffix(w[0].Where, ProjectFile+":1") {
			t.Errorf("%s: warnings %v", project, w)
		}
	}
}

// TestDroppedGrants checks the warning. It is one line that names every dropped grant and no
// value.
func TestDroppedGrants(t *testing.T) {
	c, _ := mergedWith(t, usersServer, "[servers.s]\ncommand = '/bin/sh'\n")
	want := `server "s" runs what this project says, so it does not have what your own configuration grants to that name: ` +
		`workspace /home/u/notes, home = "real", variable TOK, variable GH_*, ~/notes (read), api.github.com (with the secret KEY), ` +
		`inbound port 3334, memory_mb = 9000, waived process, its arguments; ` +
		`grant it in this file and trust it again, or give the project's server another name`
	if w := c.DroppedGrants("s"); len(w) != 1 || w[0].Message != want {
		t.Errorf("%v\nwant %s", w, want)
	}
	many := "[servers.s]\ncommand = 'x'\nvariables = ['" + strings.Join(strings.Split("ABCDEFGHIJKLMN", ""), "', '") + "']\n"
	c, _ = mergedWith(t, many, "[servers.s]\ncommand = '/bin/sh'\n")
	if w := c.DroppedGrants("s"); len(w) != 1 || !strings.Contains(w[0].Message, "variable L, and 2 more;") {
		t.Errorf("%v", w)
	}
	// There is no warning if nothing was granted or if the names differ.
	for _, users := range []string{"[servers.s]\ncommand = 'x'\n", "[servers.other]\ncommand = 'x'\nvariables = ['A']\n"} {
		if c, _ = mergedWith(t, users, "[servers.s]\ncommand = '/bin/sh'\n"); len(c.DroppedGrants("s")) != 0 {
			t.Errorf("%s: %v", users, c.DroppedGrants("s"))
		}
	}
}

// TestProjectJoins checks that a project that changes no program joins the layers below
// it.
func TestProjectJoins(t *testing.T) {
	for project, want := range map[string]string{
		"access.fs = [{ path = '.', read = true }]": "~/notes . api.github.com GH_* TOK 3334 process",
		"access.env = [{ name = 'GH_*' }]":          "~/notes api.github.com GH_* TOK 3334 process",
		"limits.memory_mb = 100":                    "~/notes api.github.com GH_* TOK 3334 process",
	} {
		c, p := mergedWith(t, usersServer, "[servers.s]\n"+project+"\n")
		if got := strings.Join(granted(p), " "); got != want || p.Project != "" || p.Workspace == "" || !p.HomeReal {
			t.Errorf("%s: is granted %s, want %s", project, got, want)
		}
		if w := c.DroppedGrants("s"); len(w) != 0 {
			t.Errorf("%s: %v", project, w)
		}
	}
}

// TestProjectOfTools checks that the tables of tools do not evade the rule of
// TestProjectTakesNothingOver, and that the user's list of programs holds also if the project has
// one.
func TestProjectOfTools(t *testing.T) {
	users := "[servers.s]\ncommand = 'x'\nstateful = false\n[servers.s.tools.a.access]\nfs = [{ path = '~/notes', read = true }]\n" +
		"commands = { git = {} }\n[servers.s.tools.b.access]\nenv = [{ name = 'TOK', read = true }]\n"
	c, _ := mergedWith(t, users, "[servers.s]\narguments = ['x']\n")
	if got := strings.Join(c.DeclaredTools("s"), " "); got != "" {
		t.Errorf("tables of %s", got)
	}
	var p *policy.Policy
	for _, tool := range []string{"", "a", "b"} { // the refusals of one tool hold for all
		var err error
		if p, err = c.Policy("s", tool); err != nil || strings.Join(granted(p), " ") != "." || len(p.Commands) != 1 || !p.Default {
			t.Errorf("%+v, %v", p, err)
		}
	}
	if w := c.DroppedGrants("s"); len(w) != 1 || !strings.Contains(w[0].Message, "tool a: ~/notes (read), tool b: variable TOK;") {
		t.Errorf("%v", w)
	}
	// A variable of a tool counts, because the tool's program starts with it.
	c, _ = mergedWith(t, users, "[servers.s.tools.c.access]\nenv = [{ name = 'NODE_OPTIONS', read = true }]\n")
	if w := c.DroppedGrants("s"); len(w) != 1 {
		t.Errorf("a variable for a tool joins what the user granted: %v", w)
	}
	// A server with another program is stateful again, even if the user's server was stateless.
	_, p = mergedWith(t, users, "[servers.s]\ncommand = 'y'\naccess.commands = { sh = {} }\n")
	if !p.Stateful || p.Commands == nil || len(p.Commands) != 0 || len(p.Lower.Refused) != 1 {
		t.Errorf("%+v", p)
	}
}
