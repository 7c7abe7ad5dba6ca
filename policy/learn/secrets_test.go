package learn

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestNeighbours: a rule for a directory does not make keys and passwords readable that lie beside what the server
// used. What it used itself is named.
func TestNeighbours(t *testing.T) {
	h := newHost("/home/u/proj/deploy/a.conf", "/home/u/proj/deploy/b.conf", "/home/u/proj/deploy/c.conf", "/home/u/proj/deploy/server.pem", "/home/u/proj/deploy/old/ID_RSA",
		"/home/u/proj/deploy/tls.crt", "/home/u/proj/deploy/ca.KEY", "/home/u/proj/plain/a", "/home/u/proj/plain/b", "/home/u/proj/plain/c", "/home/u/huge/a", "/home/u/huge/b", "/home/u/huge/c",
		"/home/u/proj/odd[1]/a", "/home/u/proj/odd[1]/server.pem", "/home/u/proj/many/a")
	for i := range maxHidden + 1 {
		h[fmt.Sprintf("/home/u/proj/many/%d", i)] = aFile{mode: fs.ModeDir | 0o755}
		h[fmt.Sprintf("/home/u/proj/many/%d/server.pem", i)] = aFile{mode: 0o644}
	}
	const reads = "look read /home/u/proj/deploy/a.conf\nlook read /home/u/proj/deploy/b.conf\nlook read /home/u/proj/deploy/c.conf\n"
	for what, c := range map[string]struct {
		seen, says     string
		hidden, useful []string
	}{
		"a directory of some files":      {reads, `sensitive_paths = ["**/*.KEY", "**/*.pem", "**/ID_RSA"]`, []string{"deploy/server.pem", "deploy/old/ID_RSA", "deploy/ca.KEY", "deploy/new.pem"}, []string{"deploy/a.conf", "deploy/tls.crt"}},
		"one that was listed":            {"look list /home/u/proj/deploy\n", `"**/*.pem"`, []string{"deploy/server.pem"}, []string{"deploy/a.conf"}},
		"a key that the server read":     {reads + "look read /home/u/proj/deploy/server.pem\n", `{ path = "deploy/server.pem", read = true }`, []string{"deploy/ca.KEY", "deploy/old/ID_RSA", "deploy/new.pem"}, []string{"deploy/a.conf", "deploy/server.pem"}},
		"a key that the server made":     {reads + "look create? /home/u/proj/deploy/own.pem\n", `sensitive_paths = ["**/*.KEY", "**/ID_RSA", "deploy/server.pem"]`, []string{"deploy/ca.KEY", "deploy/server.pem"}, []string{"deploy/a.conf", "deploy/own.pem"}},
		"one that it made and removed":   {reads + "look create? /home/u/proj/deploy/own.pem\nlook remove /home/u/proj/deploy/own.pem\n", `"deploy/server.pem"`, []string{"deploy/server.pem"}, []string{"deploy/a.conf"}},
		"one that it made elsewhere":     {reads + "look create? /home/u/proj/plain/own.pem\n", `sensitive_paths = ["**/*.KEY", "**/ID_RSA", "deploy/*.pem"]`, []string{"deploy/server.pem", "deploy/new.pem"}, []string{"deploy/a.conf"}},
		"keys where no pattern can be":   {"look list /home/u/proj/odd[1]\nlook create? /home/u/proj/plain/own.pem\n", `"**/*.pem"`, []string{"odd[1]/server.pem"}, []string{"odd[1]/a"}},
		"keys in many directories":       {"look list /home/u/proj/many\nlook create? /home/u/proj/plain/own.pem\n", `"**/*.pem"`, []string{"many/0/server.pem", "many/20/server.pem"}, []string{"many/a"}},
		"the control: no such neighbour": {"look list /home/u/proj/plain\n", "", []string{"deploy/server.pem"}, []string{"plain/a"}},
		"one that is too large to look":  {"look list /home/u/huge\n", `"**/id_rsa"`, []string{"../huge/x.pem"}, []string{"../huge/a"}},
	} {
		r := Learn(h.input(t, seen(c.seen)...))
		text := string(r.TOML())
		if !strings.Contains(text, c.says) || c.says == "" && strings.Contains(text, "sensitive_paths") {
			t.Errorf("%s: no %s in\n%s", what, c.says, text)
		}
		for _, name := range c.hidden {
			h[clean(name)] = aFile{mode: 0o644}
		}
		p := h.profile(t, text, "")
		for _, name := range c.hidden {
			if got := p.RightsAt(clean(name)); got != 0 {
				t.Errorf("%s: %s has %s under\n%s", what, name, got, text)
			}
		}
		for _, name := range c.useful {
			if !p.RightsAt(clean(name)).Has(policy.Read) {
				t.Errorf("%s: %s cannot be read under\n%s", what, name, text)
			}
		}
		delete(h, "/home/u/proj/deploy/new.pem")
	}
}

func clean(name string) string { return strings.Replace("/home/u/proj/"+name, "/proj/../", "/", 1) }
