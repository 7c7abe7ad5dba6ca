package resolve

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// TestModuleLinks: a package that is a link to what is not granted is warned of, with what grants it.
// It is never granted by itself.
func TestModuleLinks(t *testing.T) {
	const app = "f /home/u/m/p/server/package.json\nf /home/u/m/p/server/dist/x.js\nd /home/u/m/p/shared\nd /home/u/m/p/other\nd /home/u/.ssh\nd /usr/lib/node_modules/sys\nd /home/u/m/p/server/node_modules/plain\n"
	const modules = "/home/u/m/p/server/node_modules"
	many := ""
	for i := range maxLinkNames + 2 {
		many += fmt.Sprintf("l %s/n%d /home/u/m/p/shared\n", modules, i)
	}
	p, err := config.FromCommandLine(config.CommandLineOptions{Command: []string{"node", "/home/u/m/p/server/dist/x.js"}})
	testkit.Must(t, err)
	if _, ws, err := Resolve(p, newFake(aSystem, app+"l "+modules+"/shared ../../shared").host()); err != nil || !strings.Contains(fmt.Sprint(ws), "start it with --write . --read /home/u/m/p/shared") {
		t.Errorf("the default policy: %v, %v", ws, err)
	}
	for name, c := range map[string]struct {
		files, flags string
		want         []string // parts of the warning; none: no warning
	}{
		"workspace":   {"l " + modules + "/shared ../../shared", "", []string{modules + "/shared -> /home/u/m/p/shared;", "start it with --read /home/u/m/p/shared"}},
		"scope":       {"l " + modules + "/@a/shared ../../../shared", "", []string{"/@a/shared -> /home/u/m/p/shared", "--read /home/u/m/p/shared"}},
		"hoisted":     {"d /home/u/m/node_modules\nl /home/u/m/node_modules/shared ../p/shared", "", []string{"/home/u/m/node_modules/shared -> /home/u/m/p/shared"}},
		"many":        {many, "", []string{"/n4 -> /home/u/m/p/shared and 2 more; if the server needs them, start it with --read /home/u/m/p/shared"}},
		"granted":     {"l " + modules + "/shared ../../shared", "/home/u/m/p/shared", nil},
		"inside":      {"d " + modules + "/.pnpm/a\nl " + modules + "/a .pnpm/a", "", nil},
		"system":      {"l " + modules + "/sys /usr/lib/node_modules/sys", "", nil},
		"nowhere":     {"l " + modules + "/gone ../../gone", "", nil},
		"planted":     {"l " + modules + "/keys /home/u/.ssh", "", nil},
		"home":        {"l " + modules + "/home /home/u", "", nil},
		"root":        {"l " + modules + "/root /", "", nil},
		"deeper":      {"l " + modules + "/plain/link /home/u/m/p/shared", "", nil},
		"without any": {"", "", nil},
	} {
		o := config.CommandLineOptions{Command: []string{"node", "/home/u/m/p/server/dist/x.js"}, Net: []string{"x.example"}}
		if c.flags != "" {
			o.Read = []string{c.flags}
		}
		p, err := config.FromCommandLine(o)
		testkit.Must(t, err)
		out, warnings, err := Resolve(p, newFake(aSystem, app+c.files).host())
		testkit.Must(t, err)
		text := ""
		for _, w := range warnings {
			if w.Code == "module-links" {
				text += w.Message
			}
		}
		if (text == "") != (c.want == nil) {
			t.Errorf("%s: %q", name, text)
		}
		for _, part := range c.want {
			if !strings.Contains(text, part) {
				t.Errorf("%s: %q is not in %q", name, part, text)
			}
		}
		if c.flags == "" && (out.RightsAt("/home/u/m/p/shared/i.js") != 0 || out.RightsAt("/home/u/.ssh/id") != 0) {
			t.Errorf("%s: granted: %s", name, printProfile(out))
		}
		if out.RightsAt(modules+"/plain")&policy.Read == 0 {
			t.Errorf("%s: control: %s", name, printProfile(out))
		}
	}
}
