package resolve

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// TestWhyChangeable tests which interpreters a server may exchange: by a rule for their place, a
// link on the way or a directory above, of this server, another one of the configuration, or one
// that a note names. A rule for the home directory does not count where paths are protected.
func TestWhyChangeable(t *testing.T) {
	const files = `x /home/u/.nvm/versions/node/v20/bin/node
x /home/u/.config/nvm/versions/node/v20/bin/node
x /home/u/tools/bin/node
x /home/u/proj/bin/node
l /home/u/links/node /usr/bin/bash
l /home/u/other ./tools
l /home/u/.local/bin/node ../../tools/bin/node`
	rule := func(server, path string) string {
		return "[servers." + server + "]\ncommand = \"server\"\n[[servers." + server + ".access.fs]]\npath = \"" + path + "\"\nread = true\nwrite = true\n"
	}
	home := rule("s", "~/notes")
	for _, c := range []struct{ name, toml, file, want string }{
		{"no rule", home, "/home/u/tools/bin/node", ""},
		{"its own workspace", "[servers.s]\ncommand = \"server\"\n", "/home/u/proj/bin/node", `the server may write to /home/u/proj/bin/node (the default policy)`},
		{"its own rule", rule("s", "~/tools"), "/home/u/tools/bin/node", `the server may write to /home/u/tools/bin/node (c.toml:4: path = "~/tools")`},
		{"another server's rule", home + rule("a", "~/tools/bin"), "/home/u/tools/bin/node", `the server "a" may write to /home/u/tools/bin/node (c.toml:10: path = "~/tools/bin")`},
		{"a file's rule", home + rule("a", "~/tools/bin/node"), "/home/u/tools/bin/node", `the server "a" may write to`},
		{"another file's rule", home + rule("a", "~/tools/bin/x"), "/home/u/tools/bin/node", ""},
		{"a rule by another name", home + rule("a", "~/other"), "/home/u/tools/bin/node", `the server "a" may write to`},
		{"a link on the way", home + rule("a", "~/links"), "/home/u/links/node", `the server "a" may replace the symbolic link /home/u/links/node`},
		{"a link into a rule", home + rule("a", "~/tools"), "/home/u/.local/bin/node", `the server "a" may write to /home/u/tools/bin/node`},
		{"the home directory, protected", home + rule("a", "~"), "/home/u/.nvm/versions/node/v20/bin/node", ""},
		{"the home directory, not protected", home + rule("a", "~"), "/home/u/tools/bin/node", `the server "a" may write to`},
		{"around a protected place", home + rule("a", "~/.config"), "/home/u/.config/nvm/versions/node/v20/bin/node", ""},
		{"a protected place by its name", home + rule("a", "~/.nvm"), "/home/u/.nvm/versions/node/v20/bin/node", `the server "a" may write to`},
		{"a place in a protected one by its name", home + rule("a", "~/.nvm/versions"), "/home/u/.nvm/versions/node/v20/bin/node", `the server "a" may write to`},
		{"a noted server", home, "/home/u/links/node", ""},
		{"a noted server's rule", home, "/home/u/noted/node", `the server "n" may write to /home/u/noted/node (--write ~/noted)`},
		{"the system", home + rule("a", "~"), "/usr/bin/bash", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg, err := config.Decode([]byte("version = 1\n"+c.toml), "c.toml")
			testkit.Must(t, err)
			p, err := cfg.Policy("s", "")
			testkit.Must(t, err)
			p.Noted = []policy.WriterRules{{Name: `the server "n"`, Rules: map[string]policy.WriteGrant{"/home/u/noted": {Rights: policy.Write, Rule: "--write ~/noted"}}}}
			h := newFake(aSystem, files).host()
			got := WhyChangeable(ReachOf(p, h), hostfs.NewLinkResolver(&h), c.file)
			if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
