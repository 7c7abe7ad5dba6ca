package config

import (
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
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
net = [{ host = "api.github.com", allow = true, secret = { env = "KEY" } }, { host = "gist.github.com", allow = false }]
inbound = [{ port = 3334 }]
env = [{ name = "GH_*", read = true }, { name = "GH_DEBUG", read = false }]
`

// mergedWith returns the user's configuration merged with a trusted project file, and the
// policy of the server "s".
func mergedWith(t *testing.T, users, project string) (*Config, *policy.Policy) {
	t.Helper()
	o, file := layersIn(t)
	testkit.WriteFile(t, o.User, users)
	testkit.Must(t, (TrustStore{Path: o.Trust}).Trust(file, testkit.WriteFile(t, file, project)))
	c, err := Load(o)
	testkit.Must(t, err)
	p, err := c.Policy("s", "")
	testkit.Must(t, err)
	return c, p
}

func granted(p *policy.Policy) (out []string) {
	for _, r := range p.Fs {
		if r.Rights() != 0 {
			out = append(out, r.Path)
		}
	}
	for _, r := range p.Net {
		if _, ok := policy.MatchNet(p.Net, r.Host, r.Scheme, r.Ports()[0], "/", "GET"); r.Allow && ok {
			out = append(out, r.Host)
		}
	}
	for _, r := range p.Env {
		if _, ok := policy.MatchEnv(p.Env, strings.ReplaceAll(r.Name, "*", "x")); r.Read && ok {
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

// TestProjectsOwn checks that a project's file that names a program declares a server of its own: nothing of the
// user's server of that name is its, and no setting is weaker than [defaults] or than what is built in.
func TestProjectsOwn(t *testing.T) {
	for project, want := range map[string]struct {
		argv, granted []string
	}{
		"command = '/bin/sh'\narguments = ['./srv.sh']":     {[]string{"/bin/sh", "./srv.sh"}, []string{"."}},
		"command = '/bin/sh'":                               {[]string{"/bin/sh"}, []string{"."}},
		"command = 'x'\naccess.fs = [{path='a',read=true}]": {[]string{"x"}, []string{"a"}},
		"command = 'x'\naccess.net = [{host='a',allow=true}]\nlimits.memory_mb = 9001\nleaks = 'off'\npin_tools = 'off'": {[]string{"x"}, []string{"a"}},
	} {
		c, p := mergedWith(t, "[defaults]\nlimits.memory_mb = 2000\n"+usersServer, "[servers.s]\n"+project+"\n")
		if got := append([]string{p.Command}, p.Arguments...); !reflect.DeepEqual(got, want.argv) {
			t.Errorf("%s: runs %q, want %q", project, got, want.argv)
		}
		if got := granted(p); !reflect.DeepEqual(got, want.granted) {
			t.Errorf("%s: is granted %q, want %q", project, got, want.granted)
		}
		if p.HomeReal || p.Workspace == "/home/u/notes" || p.Default == strings.Contains(project, "access") || p.Project == "" {
			t.Errorf("%s: %+v", project, p)
		}
		if p.Limits.MemoryMB != 2000 || p.Leaks != policy.LeaksWarn || p.Packages.PinTools != policy.PinWarn {
			t.Errorf("%s: %+v %s %s", project, p.Limits, p.Leaks, p.Packages.PinTools)
		}
		if w := c.Servers["s"].droppedGrants(); len(w) != 1 || !strings.HasSuffix(w[0].Where, ProjectFile+":1") || !strings.Contains(w[0].Message, "grants to that name (") || !strings.Contains(w[0].Message, "user.toml:4)") {
			t.Errorf("%s: warnings %v", project, w)
		}
	}
}

// TestProjectsOwnDenied checks that what a table of the user denies holds for each process of a project's own server
// of that name, at the place where it is for the user's server.
func TestProjectsOwnDenied(t *testing.T) {
	const denials = `access = { fs = [{ path = ".", read = true }, { path = "private", deny = true }, { path = "~/x", deny = "write" }], net = [{ host = "h", allow = false }], env = [{ name = "E", read = false }], sensitive_paths = ["keys", "**/*.pem"] }`
	for _, c := range []struct{ users, project, tool, paths string }{
		{denials, "access.fs = [{ path = '/', read = true }]", "", "DIR/private ~/x DIR/keys"},
		{"workspace = 'sub'\n" + denials, "stateful = false", "t", "DIR/sub/private ~/x DIR/sub/keys"},
		{"workspace = '~/w'\n" + denials, "workspace = 'sub'", "", "~/w/private ~/x ~/w/keys"},
		{"stateful = false\ntools.'*'." + denials, "access.fs = { strategy = 'replace', value = [] }", "", "DIR/private ~/x DIR/keys"},
		{"stateful = false\ntools.t." + denials, "stateful = false\ntools.u.access = {}", "u", "DIR/private ~/x DIR/keys"},
		{"access.fs = [{ path = '.', read = true }]", "arguments = []", "", ""},
	} {
		o, file := layersIn(t)
		testkit.WriteFile(t, o.User, "[servers.s]\ncommand = 'mine'\n"+c.users)
		o.Project = []byte("[servers.s]\ncommand = 'its'\n" + c.project)
		cfg, err := Load(o)
		testkit.Must(t, err)
		p, _ := cfg.Policy("s", c.tool)
		if c.paths == "" {
			if p.Narrow != nil {
				t.Errorf("%+v: %+v", c, p.Narrow)
			}
			continue
		}
		var paths []string
		for _, r := range p.Narrow.Fs[len(p.Fs):] {
			paths = append(paths, r.Path)
		}
		if got, want := strings.Join(paths, " "), strings.ReplaceAll(c.paths, "DIR", filepath.Dir(file)); got != want || !slices.Equal(p.Narrow.Fs[:len(p.Fs)], p.Fs) {
			t.Errorf("%+v: denied are %s, want %s", c, got, want)
		}
		if n := p.Narrow; len(n.Net) != 1 || len(n.Env) != 1 || fmt.Sprint(n.Sensitive) != "[**/*.pem]" || n.Default != p.Default {
			t.Errorf("%+v: %+v", c, n)
		}
	}
}

// TestProjectNarrows checks which axes a project's file mentions for a server of the user, and what of it has no effect.
func TestProjectNarrows(t *testing.T) {
	const all = "~/notes api.github.com GH_* TOK 3334"
	for _, row := range testkit.Rows(t, "narrowed.txt", 3) {
		project, narrow, noEffect := row[0], row[1], row[2]
		c, p := mergedWith(t, usersServer, "[servers.s]\n"+project+"\n")
		if got := strings.Join(granted(p), " "); got != all+" process" || p.Project != "" || p.Workspace != "/home/u/notes" || !p.HomeReal || p.Arguments[1] != "tok" {
			t.Errorf("%s: is granted %s, want %s and process", project, got, all)
		}
		got := ""
		if p.Narrow != nil {
			got = strings.Join(granted(p.Narrow), " ")
			if slices.ContainsFunc(p.Narrow.Net, func(r policy.NetRule) bool { return r.Host == "a" && r.Secrets != nil }) {
				t.Errorf("%s: the project's secret is used", project)
			}
			if slices.ContainsFunc(p.Narrow.Env, func(r policy.EnvRule) bool { return r.File != "" }) {
				t.Errorf("%s: the project chooses a file of the user", project)
			}
		}
		if got != narrow {
			t.Errorf("%s: allows %s, want %s", project, got, narrow)
		}
		var without []string
		for _, w := range c.Warnings("s") {
			what, _, _ := strings.Cut(w.Message, " has no effect")
			without = append(without, what)
		}
		if got := strings.Join(without, ", "); got != noEffect {
			t.Errorf("%s: without effect are %s, want %s", project, got, noEffect)
		}
		strict := strings.Contains(project, "100")
		if strict != (p.Limits.MemoryMB == 100) || strict != (p.Leaks == policy.LeaksBlock) || p.Call.Seconds() != 7 {
			t.Errorf("%s: %+v", project, p)
		}
	}
}

// TestProjectNarrowsTools checks that each process of a stateless server has what the project's file says for it.
func TestProjectNarrowsTools(t *testing.T) {
	users := "[servers.s]\ncommand = 'x'\nstateful = false\n[servers.s.tools.a.access]\nfs = [{ path = '~/notes', read = true }]\n"
	c, _ := mergedWith(t, users, "[servers.s.tools.b.access]\nfs = [{ path = 'b', read = true }]\n")
	if got := strings.Join(c.DeclaredTools("s"), " "); got != "a b" {
		t.Errorf("tables of %s", got)
	}
	for tool, want := range map[string]string{"": "", "a": "", "b": "b"} {
		p, err := c.Policy("s", tool)
		testkit.Must(t, err)
		got := ""
		if p.Narrow != nil {
			got = strings.Join(granted(p.Narrow), " ")
		}
		if got != want {
			t.Errorf("tool %s: allows %s, want %s", tool, got, want)
		}
	}
	o, _ := layersIn(t)
	testkit.WriteFile(t, o.User, users)
	o.Project = []byte("[servers.s.access]\nfs = []\n")
	if _, err := Load(o); err == nil || !strings.Contains(err.Error(), "cannot be enforced") {
		t.Errorf("a table for the whole of a stateless server: %v", err)
	}
}
