package resolve

import (
	"io/fs"
	"math/rand"
	"path"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// TestBuiltInDenials checks that inside a sensitive path nothing holds, and inside a protected name no
// right to write, which no rule gives that names it.
func TestBuiltInDenials(t *testing.T) {
	held, named := 0, 0
	for seed := range int64(testkit.Rounds(400, 4000)) {
		g := &generator{rand.New(rand.NewSource(seed)), seed%2 == 0, hotNames}
		h, rules := g.host(), g.rules()
		p, err := resolveRules(h, rules)
		if err != nil {
			continue
		}
		for _, at := range h.paths() { // what is missing, the mediator protects
			denial, takes := denialAround(at)
			if denial == "" || !policy.Within(at, "/home/u/proj") || h.throughLink(at) {
				continue
			}
			var given policy.Rights
			for _, r := range rules {
				abs := path.Join("/home/u/proj", r.Path)
				if strings.HasPrefix(r.Path, "~/") {
					abs = path.Join("/home/u", r.Path[2:])
				}
				if policy.Within(abs, denial) || h.throughLink(abs) && strings.Contains(abs, path.Base(denial)) {
					given |= r.Rights()
				}
			}
			held++
			if given != 0 {
				named++
			}
			if got := p.RightsAt(at) & takes; got&^given != 0 {
				t.Fatalf("seed %d: %s at %s, inside %s: rules that name it give %s\n%+v\n%s", seed, got, at, denial, given, rules, printProfile(p))
			}
		}
	}
	if held < 1000 || named < 50 {
		t.Errorf("only %d places were looked at, %d of them named", held, named)
	}
}

// denialAround returns the innermost built-in denial around a path, and what it takes.
func denialAround(p string) (denial string, takes policy.Rights) {
	for at := p; at != "/"; at = path.Dir(at) {
		switch name := path.Base(at); {
		case name == ".env" || name == ".env.x":
			return at, policy.AllRights
		case name == ".vscode" || name == ".mcp.json" || (name == "hooks" || name == "config") && path.Base(path.Dir(at)) == ".git" || name == "workflows" && path.Base(path.Dir(at)) == ".github":
			return at, policy.Write
		}
	}
	return "", 0
}

func (h fakeHost) throughLink(p string) bool {
	for ; p != "/"; p = path.Dir(p) {
		if h[p].mode&fs.ModeSymlink != 0 {
			return true
		}
	}
	return false
}

// TestNamedDenials holds what names a sensitive path or a protected name beside the rules of the user.
func TestNamedDenials(t *testing.T) {
	h := newFake(aSystem, `
		f /home/u/proj/.env
		x /home/u/proj/.git/hooks/pre-commit
		f /home/u/proj/.git/config
		f /home/u/proj/.vscode/tasks.json
		f /home/u/proj/src/a
		l /home/u/proj/env .env
		l /home/u/proj/code .vscode
		f /home/u/.kube/config
		f /home/u/.kube/cache
		f /home/u/.aws/credentials
		f /home/u/.aws/cli/cache/x
		x /home/u/.local/bin/srv
		f /home/u/.local/share/mcp-jail/store/pkg/index.js
		d /home/u/.local/state/mcp-jail/servers/other/home
		f /tmp/p/x`)
	// A package in the sealed store.
	sealed := resolvedWith(t, h, fsRules("~:rw"), func(p *policy.Policy) { p.Packages.Tree = "/home/u/.local/share/mcp-jail/store/pkg" })
	if got := sealed.RightsAt("/home/u/.local/share/mcp-jail/store/pkg/index.js"); got != policy.Read|policy.Execute {
		t.Errorf("the sealed store: %s", got)
	}
	// What mcp-jail makes from an argument names nothing.
	made := resolvedWith(t, h, fsRules(".:rw", ".vscode:rw", ".env:r"), func(p *policy.Policy) { p.Fs[1].Made, p.Fs[2].Made = true, true })
	if made.RightsAt("/home/u/proj/.vscode/x") != policy.Read || made.RightsAt("/home/u/proj/.env") != 0 {
		t.Errorf("made from arguments: %s, %s", made.RightsAt("/home/u/proj/.vscode/x"), made.RightsAt("/home/u/proj/.env"))
	}
	// A denial in a copy of HOME.
	copied := resolvedWith(t, h, fsRules("~/.local/state/mcp-jail/servers/s/home/x:"), func(p *policy.Policy) { p.Stateful = false })
	for _, e := range copied.Entries {
		if e.Ephemeral != (e.Origin == policy.OriginHome) {
			t.Errorf("%+v", e)
		}
	}
}

func resolvedWith(t *testing.T, h fakeHost, toml string, edit func(*policy.Policy)) *policy.Profile {
	t.Helper()
	c, err := config.Decode([]byte(toml), "c.toml")
	testkit.Must(t, err)
	of, err := c.Policy("s", "")
	testkit.Must(t, err)
	edit(of)
	host := h.host()
	withStore(&host)
	p, _, err := Resolve(of, host)
	testkit.Must(t, err)
	return p
}

func withStore(h *hostfs.Host) { h.DataDir = "/home/u/.local/share/mcp-jail" }

// TestRulesOfTrials checks that a rule which no file has as it is may add nothing: a trial takes rights away
// from rules.
func TestRulesOfTrials(t *testing.T) {
	h := newFake(aSystem, "f /home/u/proj/out/a")
	p := resolvedWith(t, h, fsRules(".:rx", "out:rw"), func(p *policy.Policy) {
		r := &p.Fs[1]
		r.Where, r.Create, r.Update, r.Delete = r.Label()+", to read in a trial", false, false, false
	})
	if got := p.RightsAt("/home/u/proj/out/a"); got != policy.Read|policy.Execute {
		t.Errorf("%s", got)
	}
}
