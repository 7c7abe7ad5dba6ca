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

// TestNamedDenials holds rules for sensitive paths and protected names inside a grant.
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
	const all, rw, rx = policy.AllRights, policy.Read | policy.Write, policy.Read | policy.Execute
	for _, c := range []struct {
		rules string
		want  map[string]policy.Rights
	}{
		{".:rw .env:r", map[string]policy.Rights{"/home/u/proj/.env": policy.Read, "/home/u/proj/src": rw}},
		{".:rw .env:rw", map[string]policy.Rights{"/home/u/proj/.env": rw}},
		{".:rw .git/hooks:rx", map[string]policy.Rights{"/home/u/proj/.git/hooks/pre-commit": rx, "/home/u/proj/.git/config": policy.Read, "/home/u/proj/.git/HEAD": rw}},
		{".:rw .vscode:r", map[string]policy.Rights{"/home/u/proj/.vscode/tasks.json": policy.Read}},
		{".:rw .vscode/tasks.json:rw", map[string]policy.Rights{"/home/u/proj/.vscode/tasks.json": rw, "/home/u/proj/.vscode/x": policy.Read}},
		{".:r code:rw", map[string]policy.Rights{"/home/u/proj/.vscode/tasks.json": policy.Read}},
		{"code/tasks.json:rw", map[string]policy.Rights{"/home/u/proj/.vscode/tasks.json": policy.Read}},
		{"env:r", map[string]policy.Rights{"/home/u/proj/.env": 0}},
		{"~:rw ~/.kube/config:r", map[string]policy.Rights{"/home/u/.kube/config": policy.Read, "/home/u/.kube/cache": 0, "/home/u/x": rw}},
		{"~:rw ~/.aws/cli/cache:r", map[string]policy.Rights{"/home/u/.aws/cli/cache/x": policy.Read, "/home/u/.aws/credentials": 0, "/home/u/.aws/cli": 0}},
		{"~:rw", map[string]policy.Rights{
			"/home/u/.local/state/mcp-jail/servers/s/home/x": all, "/home/u/.local/state/mcp-jail/servers/other/home/x": 0, "/home/u/.local/state/mcp-jail/trust.toml": 0,
			"/home/u/.local/share/mcp-jail/store/pkg/index.js": 0, "/home/u/.local/bin/srv": policy.Read,
		}},
		{"/tmp/p:r", map[string]policy.Rights{"/tmp/p/x": policy.Read, "/tmp/q": 0}},
		{".:rw src:", map[string]policy.Rights{"/home/u/proj/src/a": 0, "/home/u/proj/x": rw}},
		{".:rw src:-w", map[string]policy.Rights{"/home/u/proj/src/a": policy.Read}},
		{".:rw src:-w src:x", map[string]policy.Rights{"/home/u/proj/src/a": rx}},
		{".:rw .env: .vscode:", map[string]policy.Rights{"/home/u/proj/.env": 0, "/home/u/proj/.vscode/tasks.json": 0}},
	} {
		p, _ := mustResolve(t, h, fsRules(strings.Fields(c.rules)...), withStore)
		for at, want := range c.want {
			if got := p.RightsAt(at); got != want {
				t.Errorf("%s: %s at %s, want %s", c.rules, got, at, want)
			}
		}
		checkProfile(t, p)
	}
	// The server's own program, and a package in the sealed store.
	own := strings.Replace(fsRules("~:rw"), `"server"`, `"/home/u/.local/bin/srv"`, 1)
	if p, _ := mustResolve(t, h, own); p.RightsAt("/home/u/.local/bin/srv") != rx {
		t.Errorf("the own program: %s", p.RightsAt("/home/u/.local/bin/srv"))
	}
	sealed := resolvedWith(t, h, fsRules("~:rw"), func(p *policy.Policy) { p.Packages.Tree = "/home/u/.local/share/mcp-jail/store/pkg" })
	if got := sealed.RightsAt("/home/u/.local/share/mcp-jail/store/pkg/index.js"); got != rx {
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

// TestUnchanging checks that rules that change nothing have no entry, so that files in them can be saved
// by a rename, and that others have.
func TestUnchanging(t *testing.T) {
	h := newFake(aSystem, "f /home/u/proj/src/a\nf /home/u/proj/.vscode/x\nd /tmp/p\nd /dev/shm/p\nf /etc/hosts")
	for rules, want := range map[string]string{
		".:rw src:rw": "/home/u/proj", ".:rw src:x src/a:rwx": "/home/u/proj /home/u/proj/src", ".:rw .vscode:rw": "/home/u/proj /home/u/proj/.vscode",
		"/:r /tmp/p:r /etc/hosts:r /dev/shm/p:r": "/ /dev/shm/p /etc/hosts /tmp/p",
	} {
		p, _ := mustResolve(t, h, fsRules(strings.Fields(rules)...))
		var got []string
		for _, e := range p.Entries {
			if e.Origin == policy.OriginRule {
				got = append(got, e.Path)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %s, want %s", rules, got, want)
		}
	}
}

// TestNarrowFlags checks that a flag that does not write keeps a path inside one that writes from being
// changed, as it did when the innermost rule decided.
func TestNarrowFlags(t *testing.T) {
	h := newFake(aSystem, "f /home/u/proj/src/gen/a\nx /home/u/proj/tools/t\nf /home/u/proj/.env\nl /data /home/u/proj")
	for _, c := range []struct {
		read, write, execute, deny []string
		want                       map[string]policy.Rights
		warned                     string
	}{
		{read: []string{"src"}, write: []string{"."}, want: map[string]policy.Rights{"src/gen/a": policy.Read, "x": policy.Read | policy.Write}, warned: "narrow-flag"},
		{read: []string{"/data/src"}, write: []string{"."}, want: map[string]policy.Rights{"src/gen/a": policy.Read}, warned: "narrow-flag"},
		{execute: []string{"tools"}, write: []string{"~/proj"}, want: map[string]policy.Rights{"tools/t": policy.Read | policy.Execute}, warned: "narrow-flag"},
		{read: []string{"src"}, write: []string{".", "src/gen"}, want: map[string]policy.Rights{"src/gen/a": policy.Read}, warned: "narrow-flag useless-rule"},
		{read: []string{".env"}, write: []string{"."}, want: map[string]policy.Rights{".env": policy.Read}, warned: "sensitive-granted"},
		{read: []string{"later"}, write: []string{"."}, want: map[string]policy.Rights{"x": policy.Read | policy.Write}, warned: "missing-path"},
		{write: []string{"."}, deny: []string{"src"}, want: map[string]policy.Rights{"src/gen/a": 0}},
		{read: []string{"."}, write: []string{"src"}, want: map[string]policy.Rights{"src/gen/a": policy.Read | policy.Write}},
	} {
		of, err := config.FromCommandLine(config.CommandLineOptions{Command: []string{"/usr/bin/server"}, Name: "s", Dir: "/home/u/proj", Read: c.read, Write: c.write, Execute: c.execute, Deny: c.deny})
		testkit.Must(t, err)
		p, ws, err := Resolve(of, h.host())
		if err != nil {
			t.Fatalf("%+v: %v", c, err)
		}
		for at, want := range c.want {
			if got := p.RightsAt("/home/u/proj/" + at); got != want {
				t.Errorf("%+v: %s at %s", c, got, at)
			}
		}
		if codes(ws) != c.warned {
			t.Errorf("%+v: %v", c, ws)
		}
		if len(c.read) > 0 && c.read[0] == "later" && p.Allows(policy.OpCreate, "/home/u/proj/later") {
			t.Error("a missing path can be made")
		}
	}
	of, err := config.FromCommandLine(config.CommandLineOptions{Command: []string{"/usr/bin/server"}, Name: "s", Dir: "/home/u/proj", Read: []string{"src/gen"}, Deny: []string{"src"}})
	testkit.Must(t, err)
	if _, _, err := Resolve(of, h.host()); err == nil || !strings.Contains(err.Error(), "--read src/gen (read) grants nothing: --deny src denies it") {
		t.Errorf("a grant in a denial: %v", err)
	}
}

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
