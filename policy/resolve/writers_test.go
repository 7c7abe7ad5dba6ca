package resolve

import (
	"errors"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// twoTools is a stateless server. The tool "b" and the listing process attack the tool
// "a".
const twoTools = "[servers.s]\ncommand = \"server\"\nstateful = false\n"

const useSecret = "[[servers.s.tools.a.access.net]]\nhost = \"api.example\"\nallow = true\nsecret = "

func toolRule(tool, rule string) string {
	return "[[servers.s.tools." + tool + ".access.fs]]\n" + strings.ReplaceAll(rule, ", ", "\n") + "\n"
}

// TestReach checks that a process is refused if it would rely on a file that another
// process of its server or configuration may write. Without the other process it starts.
func TestReach(t *testing.T) {
	const rw = "read = true, write = true"
	b := func(path string) string { return toolRule("b", "path = \""+path+"\", "+rw) }
	server := func(path string) string {
		return "[servers.o]\ncommand = \"server\"\n[[servers.o.access.fs]]\npath = \"" + path + "\"\nread = true\nwrite = true\n"
	}
	for _, tt := range []struct {
		name, files, policy, way, err string
	}{
		{"a secret's command", "x /home/u/tools/token #!/usr/bin/bash\\n", useSecret + `{ env = "T", command = ["~/tools/token"] }` + "\n", b("~/tools"),
			`c.toml:7: secret: the command needs /home/u/tools/token, and the tool "b" may write to /home/u/tools/token (c.toml:8: path = "~/tools"): it could choose what is run outside of its jail`},
		{"a secret's command, in the workspace", "x /home/u/proj/token", useSecret + `{ env = "T", command = ["~/proj/token"] }` + "\n", "", // the listing process
			`the process that lists the tools may write to /home/u/proj/token (the default policy)`},
		{"a link to a secret's command", "x /opt/token\nl /home/u/bin/token /opt/token", useSecret + `{ env = "T", command = ["~/bin/token"] }` + "\n", b("~/bin"),
			`the tool "b" may replace the symbolic link /home/u/bin/token`},
		{"a secret's file", "f /home/u/keys/t", useSecret + `{ env = "T", file = "~/keys/t" }` + "\n", b("~/keys/t"),
			`c.toml:7: secret: the tool "b" could write the file /home/u/keys/t (c.toml:8: path = "~/keys/t")`},
		{"a link to a secret's file", "f /home/u/.netrc\nl /home/u/keys/t ../.netrc", useSecret + `{ env = "T", file = "~/keys/t" }` + "\n", b("~/keys"),
			`leads through the symbolic link /home/u/keys/t (-> ../.netrc), which the tool "b" could replace (c.toml:8: path = "~/keys"): if that link is yours, write the path that is meant, /home/u/.netrc; if not, remove it`},
		{"a directory on the way to a secret's file", "f /home/u/.aws/t\nl /home/u/proj/conf /home/u/.aws", useSecret + `{ env = "T", file = "~/proj/conf/t" }` + "\n", "",
			`which the process that lists the tools could replace (the default policy)`},
		{"a secret's file, of another server", "f /home/u/keys/t", useSecret + `{ env = "T", file = "~/keys/t" }` + "\n", server("~/keys/t"),
			`the server "o" could write the file /home/u/keys/t (c.toml:10: path = "~/keys/t")`},
		{"a rule, of a tool", "l /home/u/notes/a /etc\nf /etc/shadow", toolRule("a", `path = "~/notes/a", read = true`), b("~/notes"),
			`leads through the symbolic link /home/u/notes/a (-> /etc), which the tool "b" could replace`},
		{"a rule in the workspace", "l /home/u/proj/notes .git/hooks\nd /home/u/proj/.git/hooks", toolRule("a", `path = "notes", read = true, write = true`), "",
			`leads through the symbolic link /home/u/proj/notes (-> .git/hooks), which the process that lists the tools could replace`},
		{"a rule, of a server", "l /home/u/notes/a /home/u", toolRule("a", `path = "~/notes/a", read = true`), server("~/notes"),
			`which the server "o" could replace (c.toml:9: path = "~/notes")`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newFake(aSystem, tt.files)
			_, _, err := resolveTool(t, h, twoTools+tt.policy+tt.way, "a")
			var re *RuleError
			if !errors.As(err, &re) || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%v\nwant %s", err, tt.err)
			}
			without := twoTools + tt.policy
			if tt.way == "" { // the default policy makes the workspace writable, so use another workspace
				without = strings.Replace(without, "\nstateful", "\nworkspace = \"/home/u/elsewhere\"\nstateful", 1)
				without = strings.Replace(without, `"notes"`, `"/home/u/proj/notes"`, 1)
				h.add("d /home/u/elsewhere")
			}
			if _, _, err := resolveTool(t, h, without, "a"); err != nil {
				t.Errorf("the control: %v", err)
			}
			// The other tool itself starts.
			if tt.way != "" && strings.Contains(tt.way, "tools.b") {
				if _, _, err := resolveTool(t, h, twoTools+tt.policy+tt.way, "b"); err != nil {
					t.Errorf("the other tool: %v", err)
				}
			}
		})
	}
}

// TestSecretFileHiddenEverywhere checks that the file of a secret is hidden in every
// process of the configuration.
func TestSecretFileHiddenEverywhere(t *testing.T) {
	const text = twoTools + useSecret + "{ env = \"T\", file = \"~/proj/t\" }\n[[servers.s.tools.b.access.fs]]\npath = \".\"\nread = true\nwrite = true\n" +
		"[servers.o]\ncommand = \"server\"\n[servers.named]\ncommand = \"server\"\n[[servers.named.access.fs]]\npath = \"t\"\nread = true\n"
	h := newFake(aSystem, "f /home/u/proj/t\nf /home/u/proj/u")
	c, err := config.Decode([]byte(text), "c.toml")
	testkit.Must(t, err)
	for _, one := range [][2]string{{"s", "a"}, {"s", ""}, {"s", "b"}, {"s", "other"}, {"o", ""}, {"named", ""}} {
		p, err := c.Policy(one[0], one[1])
		testkit.Must(t, err)
		out, ws, err := Resolve(p, h.host())
		testkit.Must(t, err)
		want := policy.Rights(0)
		if one[0] == "named" {
			want = policy.Read
			if codes(ws) != "sensitive-granted" {
				t.Errorf("%v: %v", one, ws)
			}
		}
		if got := out.RightsAt("/home/u/proj/t"); got != want {
			t.Errorf("%v: %s", one, got)
		}
		if got := out.RightsAt("/home/u/proj/u"); one[1] != "a" && one[0] != "named" && got != policy.Read|policy.Write {
			t.Errorf("%v, beside it: %s", one, got)
		}
	}
}

// TestSecretBeside checks that no process of a server has the value of a secret of another
// tool, unless a rule names the variable.
func TestSecretBeside(t *testing.T) {
	const env = "[[servers.s.tools.b.access.env]]\nname = \"%\"\nread = true\n"
	for _, tt := range []struct{ name, secret, rule, value, warnings string }{
		{"by a prefix", `{ env = "GH_TOKEN" }`, "GH_*", "(unset)", ""},
		{"by its name", `{ env = "GH_TOKEN" }`, "GH_TOKEN", "ghp_x", "secret-beside"},
		{"from elsewhere", `{ env = "GH_TOKEN", command = ["op"] }`, "GH_*", "ghp_x", ""},
		{"another one", `{ env = "OTHER" }`, "GH_*", "ghp_x", ""},
	} {
		p, ws, err := resolveTool(t, newFake(aSystem), twoTools+useSecret+tt.secret+"\n"+strings.Replace(env, "%", tt.rule, 1), "b")
		if err != nil || value(p, "GH_TOKEN") != tt.value || codes(ws) != tt.warnings {
			t.Errorf("%s: %q, %v, %v", tt.name, value(p, "GH_TOKEN"), ws, err)
		}
	}
}

// TestReachOfNothing checks that a relative rule that grants nothing where a server is started gives
// it no hold on anything there.
func TestReachOfNothing(t *testing.T) {
	rule := policy.FsRule{Path: ".", Read: true, Create: true, Update: true, Delete: true, Where: "an argument"}
	for _, c := range []struct {
		dir                 string
		preset, commandLine bool
		holds               bool
	}{
		{"/home/u", true, false, false},
		{"/home/u", false, true, false},
		{"/home/u/.config/autostart", true, false, false},
		{"/home/u/proj", true, true, true}, // the control
		{"/home/u", false, false, true},    // a rule of the user's own
	} {
		h := newFake(aSystem, "f /home/u/x\nf /home/u/proj/x\nf /home/u/.config/autostart/x").host()
		h.Dir = c.dir
		r := rule
		r.Preset = c.preset
		p := &policy.Policy{Server: "s", Command: "server", FromCommandLine: c.commandLine, Fs: []policy.FsRule{r}}
		paths := hostfs.NewLinkResolver(&h)
		if why := WhyChangeable(ReachOf(p, h), paths, c.dir+"/x"); (why != "") != c.holds {
			t.Errorf("%+v: %q", c, why)
		}
	}
}

// TestReachOfBaseline checks that a program gets no grants through a link or #! line that
// another tool may write.
func TestReachOfBaseline(t *testing.T) {
	const b = "[[servers.s.tools.b.access.fs]]\npath = \"~/tools\"\nread = true\nwrite = true\n"
	for _, tt := range []struct{ name, files, command, outside string }{
		{"a link to a script", "l /home/u/tools/run.py /home/u/vault/run.py\nf /home/u/vault/run.py", `"python3"` + "\narguments = [\"/home/u/tools/run.py\"]", "/home/u/vault/run.py"},
		{"a link for packages", "f /home/u/tools/package.json\nf /home/u/tools/dist/package.json\nf /home/u/tools/dist/i.js\nl /home/u/tools/node_modules /home/u/vault\nf /home/u/vault/x", `"node"` + "\narguments = [\"/home/u/tools/dist/i.js\"]", "/home/u/vault/x"},
		{"a #! line", "x /home/u/tools/run #!/home/u/vault/bin/python\\n\nl /home/u/vault/bin/python /usr/bin/python3\nf /home/u/vault/pyvenv.cfg", `"/home/u/tools/run"`, "/home/u/vault/pyvenv.cfg"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newFake(aSystem, tt.files)
			for _, tool := range []string{"a", "b", ""} {
				p, _, err := resolveTool(t, h, "[servers.s]\ncommand = "+tt.command+"\nstateful = false\n"+b, tool)
				if err == nil && p.RightsAt(tt.outside) != 0 {
					t.Errorf("tool %q: %s", tool, p.RightsAt(tt.outside))
				}
			}
			p, _, err := resolveTool(t, h, "[servers.s]\ncommand = "+tt.command+"\nstateful = false\n", "a")
			if err != nil || p.RightsAt(tt.outside) == 0 {
				t.Errorf("the control: %v", err)
			}
		})
	}
}

// TestReachDoesNotFollow checks that a rule through a link that a server may have made does not
// count as a right to write the link's target. Otherwise a server could keep all others from
// starting.
func TestReachDoesNotFollow(t *testing.T) {
	const more = "[servers.o]\ncommand = \"server\"\n[[servers.o.access.fs]]\npath = \"~/notes\"\nread = true\nwrite = true\n[[servers.o.access.fs]]\npath = \"~/notes/in\"\nread = true\nwrite = true\n"
	h := newFake(aSystem, "x /opt/op\nl /home/u/notes/in /\nl /home/u/mine /srv/mine\nf /srv/mine/x")
	pol := api + `{ env = "T", command = ["/opt/op"] }` + "\n" + more
	if _, _, err := resolveFake(t, h, pol); err != nil {
		t.Error(err)
	}
	// A link that only the user can make is followed.
	pol = api + `{ env = "T", command = ["/opt/op", "/srv/mine/x"] }` + "\n" + more + "[[servers.o.access.fs]]\npath = \"~/mine\"\nwrite = true\n"
	if _, _, err := resolveFake(t, h, pol); err == nil || !strings.Contains(err.Error(), `the server "o" may write to /srv/mine/x`) {
		t.Error(err)
	}
}

// TestReachSparesProtected checks that a server with a wide grant does not count as a writer of the
// hidden or protected files in it.
func TestReachSparesProtected(t *testing.T) {
	const wide = "[servers.o]\ncommand = \"server\"\n[[servers.o.access.fs]]\npath = \"~\"\nread = true\nwrite = true\n"
	h := newFake(aSystem, "f /home/u/.config/op/t\nf /home/u/t\nf /home/u/.claude.json\nx /home/u/opt/mcp-jail")
	own := func(h *hostfs.Host) { h.Executable = "/home/u/opt/mcp-jail" }
	p, _ := mustResolve(t, h, api+`{ env = "T", file = "~/.config/op/t" }`+"\n"+wide, own)
	for path, writer := range map[string]bool{
		"/home/u/x": true, "/home/u/t": true, "/home/u/.config/x": true, "/home/u/opt/mcp-jail-x": true, "/home/u/.local/bin/x": false, "/home/u/.npm/_cacache/x": false,
		"/home/u/.config/op/t": false, "/home/u/.ssh/id": false, "/home/u/.claude.json": false, "/home/u/opt/mcp-jail-tls": false, "/home/u/.config/mcp-jail/config.toml": false,
		"/opt/x": false, "/home/u/.local/state/mcp-jail/servers/o/home/x": true, "/home/u/.local/state/mcp-jail/servers/s/home/x": true,
	} {
		if w, ok := p.Writer(path, policy.Write); ok != writer {
			t.Errorf("%s: %v, %+v", path, ok, w)
		}
	}
	named := "[[servers.o.access.fs]]\npath = \"~/.ssh/x\"\nwrite = true\n[[servers.o.access.fs]]\npath = \"~/opt/mcp-jail-tls\"\nwrite = true\n"
	p, _ = mustResolve(t, h, api+`{ env = "T", file = "~/t" }`+"\n"+wide+named, own)
	for path, rule := range map[string]string{"/home/u/.ssh/x/y": `path = "~/.ssh/x"`, "/home/u/opt/mcp-jail-tls": `path = "~/opt/mcp-jail-tls"`} {
		if w, ok := p.Writer(path, policy.Write); !ok || w.Name != `the server "o"` || !strings.HasSuffix(w.Rule, rule) {
			t.Errorf("%s: %v, %+v", path, ok, w)
		}
	}
}
