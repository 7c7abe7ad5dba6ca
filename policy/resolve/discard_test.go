package resolve

import (
	"math/rand"
	"path"
	"slices"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// discarding is a rule with every right, whose writes are thrown away.
func discarding(path string) policy.FsRule {
	return policy.FsRule{Path: path, Read: true, Create: true, Update: true, Delete: true, Execute: true, Where: "learn", Discard: true}
}

// TestDiscard tests which entries are copies, and that what a server writes to a copy counts nowhere as
// written.
func TestDiscard(t *testing.T) {
	h := newFake(aSystem, "f /home/u/.ssh/id", "d /home/u/proj/.git/hooks", "x /home/u/bin/tool", "l /home/u/notes /home/u/other", "f /home/u/other/f", "f /home/u/proj/sub/f", "f /home/u/kept", "f /home/u/proj/sub/same")
	readOnly := discarding("~/other")
	readOnly.Create, readOnly.Update, readOnly.Delete = false, false, false
	real := discarding("sub")
	real.Discard = false
	kept, same := discarding("~/kept"), discarding("sub/same")
	kept.Discard, same.Discard = false, false
	p, err := resolveRules(h, []policy.FsRule{discarding("~"), discarding("."), real, kept, same, readOnly, discarding("~/later/"), {Path: "~/notes/f", Read: true, Where: "f:1"}})
	if err != nil {
		t.Fatal(err) // the link ~/notes is none that a server could replace
	}
	for _, c := range []struct {
		path   string
		rights policy.Rights
		copied bool
	}{
		{"/home/u", policy.AllRights, true}, {"/home/u/proj", policy.AllRights, true}, {"/home/u/proj/sub", policy.AllRights, false}, {"/home/u/other", policy.Read | policy.Execute, false},
		{"/home/u/.ssh", 0, false}, {"/home/u/proj/.git/hooks", policy.Read | policy.Execute, false},
	} {
		if e, _ := p.Find(c.path); e.Path != c.path || e.Rights != c.rights || e.Ephemeral != c.copied || e.Make {
			t.Errorf("%s: %+v", c.path, e)
		}
	}
	// A file that is really granted keeps a mount of its own in a copy.
	minimal := map[string]bool{}
	for _, e := range p.MinimalEntries() {
		minimal[e.Path] = true
	}
	if !minimal["/home/u/kept"] || minimal["/home/u/proj/sub/same"] {
		t.Errorf("the minimal entries are %v", minimal)
	}
	if e, _ := p.Find("/home/u/later"); e.Path != "/home/u" {
		t.Errorf("a start would make %+v", e)
	}
	for at, written := range map[string]bool{"/home/u/bin/tool": false, "/home/u/proj/f": false, "/home/u/proj/sub/f": true} {
		if _, ok := p.Writer(at, policy.Write); ok != written {
			t.Errorf("%s is written by a server: %v", at, ok)
		}
	}
}

// TestDiscardChangesNoRights: for any rules, whether writes are thrown away changes no right and no
// decision about a name.
func TestDiscardChangesNoRights(t *testing.T) {
	compared := 0
	seeds := testkit.Rounds(120, 1000)
	for seed := range int64(seeds) {
		g := generator{Rand: rand.New(rand.NewSource(seed)), names: hotNames}
		h, rules := g.host(), g.rules()
		plain, err := resolveRules(h, rules)
		if err != nil {
			continue
		}
		discard := slices.Clone(rules)
		for i := range discard {
			discard[i].Discard = g.Intn(2) == 0
		}
		copied, err := resolveRules(h, discard)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		compared++
		for _, at := range g.probes(h) {
			if plain.RightsAt(at) != copied.RightsAt(at) {
				t.Errorf("seed %d: %s: %v, and with copies %v", seed, at, plain.RightsAt(at), copied.RightsAt(at))
			}
			for _, op := range []policy.Op{policy.OpRead, policy.OpWrite, policy.OpCreate, policy.OpMkdir, policy.OpRemove} {
				// A file that is replaced stays in its copy, so it keeps a mount of its own where the copy differs.
				file, _ := copied.Find(at)
				around, _ := copied.Find(path.Dir(at))
				if file.Ephemeral == around.Ephemeral && !mixed(copied, at) && plain.Mediate(op, at) != copied.Mediate(op, at) {
					t.Errorf("seed %d: %v %s: %v, and with copies %v", seed, op, at, plain.Mediate(op, at), copied.Mediate(op, at))
				}
			}
		}
		for _, e := range copied.Entries {
			if e.Ephemeral && e.Origin != policy.OriginHome && (e.Origin != policy.OriginRule || e.Rights&policy.Write == 0) {
				t.Errorf("seed %d: %+v is a copy", seed, e)
			}
		}
	}
	if compared < seeds/4 {
		t.Errorf("only %d profiles were compared", compared)
	}
}

// mixed reports whether a file below at has an entry of another kind than its directory.
func mixed(p *policy.Profile, at string) bool {
	return slices.ContainsFunc(p.Entries, func(e policy.Entry) bool {
		around, ok := p.Find(path.Dir(e.Path))
		return ok && policy.Within(e.Path, at) && e.Kind == policy.KindFile && e.Ephemeral != around.Ephemeral
	})
}

// TestOpensReads tests what a session that learns has of the rules of its policy: what they let it write outside of
// the workspace is thrown away, and none leads to a socket, by which what it reads could leave the jail.
func TestOpensReads(t *testing.T) {
	h := newFake(aSystem, "f /home/u/proj/sub/f", "f /srv/data/f", "s /srv/data/socket", "s /srv/docker.sock", "f /srv/file", "l /srv/link /srv/docker.sock")
	rule := func(path string) policy.FsRule {
		return policy.FsRule{Path: path, Read: true, Update: true, Create: true, Where: "f:1"}
	}
	rules := []policy.FsRule{rule("."), rule("/home/u/proj/sub"), rule("/srv/data"), rule("/srv/data/socket"), rule("/srv/link"), rule("/srv/file"), rule("~/later/")}
	for _, opens := range []bool{true, false} {
		p, _, err := Resolve(&policy.Policy{Server: "s", Command: "server", Fs: rules, Limits: policy.DefaultLimits, OpensReads: opens}, h.host())
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			path            string
			socket, outside bool
		}{
			{"/home/u/proj", false, false}, {"/home/u/proj/sub", false, false}, {"/srv/data", false, true}, {"/srv/file", false, true}, {"/srv/data/socket", true, true}, {"/srv/docker.sock", true, true},
		} {
			e, _ := p.Find(c.path)
			if hidden := e.Rights == 0; e.Path != c.path || hidden != (opens && c.socket) || e.Ephemeral != (opens && c.outside && !c.socket) {
				t.Errorf("opens %t: %s: %+v", opens, c.path, e)
			}
		}
		if e, _ := p.Find("/home/u/later"); e.Make == opens {
			t.Errorf("opens %t: %+v", opens, e)
		}
	}
}
