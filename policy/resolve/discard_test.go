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
	seeds := testkit.Rounds(120, 400, 1000)
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
