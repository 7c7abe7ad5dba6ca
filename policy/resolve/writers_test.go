package resolve

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// twoTools is a stateless server. The tool "b" and the listing process attack the tool
// "a".
const twoTools = "[servers.s]\ncommand = \"server\"\nstateful = false\n"

const useSecret = "[[servers.s.tools.a.access.net]]\nhost = \"api.example\"\nallow = true\nsecret = "

func toolRule(tool, rule string) string {
	return "[[servers.s.tools." + tool + ".access.fs]]\n" + strings.ReplaceAll(rule, ", ", "\n") + "\n"
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
