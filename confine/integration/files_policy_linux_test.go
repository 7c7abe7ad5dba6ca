package integration

import (
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/confine/internal/plan"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/policytest"
)

// tree is a generated piece of a host with a profile for it.
type tree struct {
	root     string
	profile  *policy.Profile
	dirs     []string
	files    []string
	links    map[string]string // symlink → canonical target
	checks   []check
	attempts []attacker.Attempt
}

// check holds what the policy decides about an attempt.
type check struct {
	allowed bool
	// split attempts may be refused all the same: entries are mounts, and nothing
	// is moved between mounts (EXDEV).
	split bool
}

// names are few, so that prefixes of each other and repetitions happen.
var treeNames = []string{"a", "ab", "a-b", "b", ".git"}

func growTree(t *testing.T, seed uint64) *tree {
	random := rand.New(rand.NewPCG(seed, 7))
	tr := &tree{root: testkit.Plant(t), links: map[string]string{}}
	must := func(err error) {
		testkit.Must(t, err)
	}
	var grow func(dir string, depth int)
	grow = func(dir string, depth int) {
		tr.dirs = append(tr.dirs, dir)
		for _, name := range []string{".del", ".ren", ".mv"} {
			must(os.WriteFile(filepath.Join(dir, name), nil, 0o644))
		}
		for _, name := range treeNames {
			p := filepath.Join(dir, name)
			switch n := random.IntN(10); {
			case n < 4 && depth < 3:
				must(os.Mkdir(p, 0o755))
				grow(p, depth+1)
			case n < 6:
				must(os.WriteFile(p, []byte("content"), 0o755))
				tr.files = append(tr.files, p)
			case n == 6:
				target := tr.dirs[random.IntN(len(tr.dirs))]
				if len(tr.files) > 0 && random.IntN(2) == 0 {
					target = tr.files[random.IntN(len(tr.files))]
				}
				must(os.Symlink(target, p))
				tr.links[p] = target
			}
		}
	}
	grow(tr.root, 0)
	objects := append(append([]string(nil), tr.dirs...), tr.files...)
	sort.Strings(objects)

	degrees := []policy.Rights{0, 0, r, r, rx, rw, rw, rw | x, r | u, r | u | x, r | c | u, r | d, c | u | d, x, policy.AllRights}
	var grants []jailtest.Grant
	if random.IntN(5) > 0 {
		grants = append(grants, jailtest.Grant{Path: tr.root, Rights: degrees[2+random.IntN(len(degrees)-2)]})
	}
	for _, p := range objects {
		if p == tr.root || random.IntN(4) > 0 {
			continue
		}
		g := jailtest.Grant{Path: p, Rights: degrees[random.IntN(len(degrees))]}
		if random.IntN(4) == 0 {
			g.Rights = policy.Rights(random.IntN(32))
		}
		entries := jailtest.Profile(t, append(grants, g)...).Entries
		if _, gaps := plan.CompileMounts((&policy.Profile{Entries: entries}).MinimalEntries(), true); len(gaps) == 0 { // what policy refuses is not asked of the kernel
			grants = append(grants, g)
		}
	}
	// Second names of files, which no entry names: a rule belongs to the object.
	for i := range 3 {
		if len(tr.files) == 0 {
			break
		}
		file, dir := tr.files[random.IntN(len(tr.files))], tr.dirs[random.IntN(len(tr.dirs))]
		named := false
		for _, g := range grants {
			named = named || g.Path == file
		}
		p := filepath.Join(dir, fmt.Sprint("hard", i))
		if !named {
			must(os.Link(file, p))
			tr.files = append(tr.files, p)
		}
	}
	tr.profile = jailtest.Profile(t, grants...)
	tr.ask(random)
	return tr
}

// ask lists every operation on every path with the decision of the policy. An attempt that
// changes something uses names of its own, or is undone.
func (tr *tree) ask(random *rand.Rand) {
	p := tr.profile
	add := func(c check, verb string, args ...string) {
		tr.checks = append(tr.checks, c)
		tr.attempts = append(tr.attempts, attacker.Try(verb, args...))
	}
	simple := func(allowed bool, verb string, args ...string) { add(check{allowed: allowed}, verb, args...) }
	for _, f := range tr.files {
		simple(p.Allows(policy.OpRead, f), "read", f)
		simple(p.Allows(policy.OpWrite, f), "write", f)
		if allowed := p.Allows(policy.OpTruncate, f); allowed || refusesTruncating() {
			simple(allowed, "truncate", f) // else a gap may be in the way of it: see notTruncating
		}
		simple(policytest.AllowsRename(p, f, f+".away"), "rename-undo", f, f+".away")
		simple(p.Allows(policy.OpExec, f) && p.Allows(policy.OpRead, f), "execs", f) // the kernel reads what it starts
	}
	for _, link := range slices.Sorted(maps.Keys(tr.links)) {
		target := tr.links[link]
		if visible := p.Allows(policy.OpRead, filepath.Dir(link)); !visible {
			continue // whether it can be passed depends on where it lies
		}
		for _, f := range tr.files {
			if f == target {
				simple(p.Allows(policy.OpRead, target), "read", link)
			}
		}
	}
	for _, dir := range tr.dirs {
		in := func(name string) string { return filepath.Join(dir, name) }
		simple(p.Allows(policy.OpList, dir), "list", dir)
		simple(p.Allows(policy.OpMkdir, in(".new")), "mkdir", in(".new"))
		simple(p.Allows(policy.OpCreate, in(".file")), "mkfile", in(".file"))
		simple(p.Allows(policy.OpRemove, in(".del")), "unlink", in(".del"))
		simple(policytest.AllowsRename(p, in(".ren"), in(".ren2")), "rename", in(".ren"), in(".ren2"))
		other := filepath.Join(tr.dirs[random.IntN(len(tr.dirs))], ".moved"+fmt.Sprint(random.Uint32()))
		add(check{allowed: policytest.AllowsRename(p, in(".mv"), other), split: true}, "rename", in(".mv"), other)
		if dir != tr.root {
			simple(policytest.AllowsRename(p, dir, dir+".away"), "rename-undo", dir, dir+".away")
		}
	}
	// What is neither granted nor on the way to something that is does not exist.
	for _, path := range append(append([]string(nil), tr.dirs...), tr.files...) {
		e, covered := p.Find(path)
		below := false
		for _, g := range p.Entries {
			below = below || g.Rights != 0 && policy.Within(g.Path, path)
		}
		if !below && (!covered || e.Rights == 0 && e.Path != path) {
			simple(false, "stat", path)
		}
	}
}

// TestJailAgreesWithThePolicy: for every path of generated trees the kernel and the pure
// evaluation of the policy give the same answer.
func TestJailAgreesWithThePolicy(t *testing.T) {
	jailtest.Needs(t)
	last := uint64(jailtest.Rounds(52, 208))
	for name, seeds := range map[string][2]uint64{"some": {1, 10}, "more": {11, last}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked, allowed := 0, 0
			for seed := seeds[0]; seed <= seeds[1]; seed++ {
				tr := growTree(t, seed)
				outcomes, err := jailtest.Run(t, confine.Launcher{Waive: []policy.Axis{policy.AxisFs}}, tr.profile, tr.attempts)
				if err != nil {
					t.Fatalf("seed %d: %v\n%s", seed, err, tr)
				}
				for i, got := range outcomes {
					c := tr.checks[i]
					did := got == attacker.Succeeded || strings.HasPrefix(got, attacker.Succeeded+" ")
					asked++
					if did {
						allowed++
					}
					if did != c.allowed && !(c.split && got == "EXDEV") {
						t.Errorf("seed %d: %v: %s, and the policy says %v\n%s", seed, tr.attempts[i], got, c.allowed, tr)
					}
				}
				if t.Failed() {
					return
				}
			}
			t.Logf("%d operations, %d of them allowed", asked, allowed)
		})
	}
}

func (tr *tree) String() string {
	var b strings.Builder
	for _, e := range tr.profile.Entries {
		if policy.Within(e.Path, tr.root) {
			fmt.Fprintf(&b, "  {ROOT%s, %s}\n", strings.TrimPrefix(e.Path, tr.root), e.Rights)
		}
	}
	filepath.WalkDir(tr.root, func(p string, d fs.DirEntry, err error) error {
		if err == nil && !strings.HasPrefix(d.Name(), ".") {
			fmt.Fprintf(&b, "  %s %s\n", d.Type(), strings.TrimPrefix(p, tr.root))
		}
		return nil
	})
	return b.String()
}
