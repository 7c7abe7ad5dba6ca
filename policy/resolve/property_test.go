package resolve

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// generator makes small random trees and rules from a seed.
type generator struct {
	*rand.Rand
	links bool
	names []string
}

var plainNames = []string{"a", "b", "c", "ab", "a-b"}

var hotNames = []string{"a", "b", ".env", ".git", "hooks", "config", ".vscode", ".github", "workflows", ".mcp.json", ".env.x"}

func (g *generator) name() string { return g.names[g.Intn(len(g.names))] }

func (g *generator) rel() string {
	parts := make([]string, 1+g.Intn(4))
	for i := range parts {
		parts[i] = g.name()
	}
	return path.Join(parts...)
}

func (g *generator) host() fakeHost {
	h := newFake(aSystem, "d /home/u/other/a/b")
	for range 5 + g.Intn(25) {
		p := path.Join("/home/u/proj", g.rel())
		if _, ok := h[p]; ok || !h.canHold(p) || !policy.Within(p, "/home/u/proj") {
			continue
		}
		switch n := g.Intn(10); {
		case n < 5:
			h.add("d " + p)
		case n < 8 || !g.links:
			h.add("f " + p)
		case n == 8:
			h.add("l " + p + " " + []string{"", "../", "./", "../../"}[g.Intn(4)] + g.rel())
		default:
			h.add("l " + p + " " + []string{"/home/u/proj/", "/home/u/other/", "/home/u/", "/"}[g.Intn(4)] + g.rel())
		}
	}
	return h
}

// canHold reports whether every ancestor is a directory or absent.
func (h fakeHost) canHold(p string) bool {
	for d := path.Dir(p); d != "/"; d = path.Dir(d) {
		if f, ok := h[d]; ok && !f.mode.IsDir() {
			return false
		}
	}
	return true
}

func (g *generator) rule(rights policy.Rights) policy.FsRule {
	r := policy.FsRule{Path: g.rel(), Read: rights.Has(policy.Read), Create: rights.Has(policy.Create), Update: rights.Has(policy.Update), Delete: rights.Has(policy.Delete), Execute: rights.Has(policy.Execute), Where: fmt.Sprintf("f:%d", g.Intn(1000))}
	if g.Intn(6) == 0 {
		r.Path = "."
	}
	if g.Intn(6) == 0 {
		r.Path = "~/proj/" + r.Path
	}
	return r
}

func (g *generator) denial() policy.FsRule {
	r := g.rule(0)
	r.Deny = []policy.Rights{policy.AllRights, policy.Write}[g.Intn(2)]
	return r
}

func (g *generator) rules() (out []policy.FsRule) {
	for range 1 + g.Intn(6) {
		if g.Intn(4) == 0 {
			out = append(out, g.denial())
			continue
		}
		rights := []policy.Rights{policy.Read, policy.Read | policy.Execute, policy.Read | policy.Write, policy.AllRights, policy.Rights(1 + g.Intn(31))}[g.Intn(5)]
		out = append(out, g.rule(rights))
	}
	return out
}

func (g *generator) probes(h fakeHost) []string {
	out := h.paths()
	for range 20 {
		out = append(out, path.Join("/home/u/proj", g.rel()))
	}
	return out
}

func resolveRules(h fakeHost, rules []policy.FsRule) (*policy.Profile, error) {
	return resolveOn(h.host(), rules)
}

func resolveOn(h hostfs.Host, rules []policy.FsRule) (*policy.Profile, error) {
	p := &policy.Policy{Server: "s", Command: "server", Fs: rules, Limits: policy.DefaultLimits}
	out, _, err := Resolve(p, h)
	return out, err
}

// expectedError reports whether Resolve may return err for some rules on some tree.
func expectedError(err error) bool {
	var re *RuleError
	var ce *policy.ConflictError
	var ps policy.Problems
	return errors.As(err, &re) || errors.As(err, &ce) || errors.As(err, &ps)
}

// TestEvaluationAgainstOracle compares profiles with a slow evaluation of the rules of
// docs/policy.md, on trees without links and without special names.
func TestEvaluationAgainstOracle(t *testing.T) {
	resolved := 0
	seeds := testkit.Rounds(150, 3000)
	for seed := range int64(seeds) {
		g := &generator{rand.New(rand.NewSource(seed)), false, plainNames}
		h, rules := g.host(), g.rules()
		p, err := resolveRules(h, rules)
		if err != nil {
			if !expectedError(err) {
				t.Fatalf("seed %d: %v", seed, err)
			}
			continue
		}
		resolved++
		checkProfile(t, p)
		for _, probe := range h.paths() {
			if !policy.Within(probe, "/home/u/proj") {
				continue
			}
			var want, denied policy.Rights
			for _, r := range rules {
				abs := path.Join("/home/u/proj", r.Path)
				if strings.HasPrefix(r.Path, "~/") {
					abs = path.Join("/home/u", r.Path[2:])
				}
				if _, exists := h[abs]; !exists {
					continue
				}
				if policy.Within(probe, abs) {
					want, denied = want|r.Rights(), denied|r.Deny
				}
			}
			if got := p.RightsAt(probe); got != want&^denied {
				t.Fatalf("seed %d: %s: %s, want %s\nrules %+v\n%s", seed, probe, got, want, rules, printProfile(p))
			}
		}
	}
	if resolved < seeds*3/10 {
		t.Errorf("only %d of %d were resolved: too few for this test", resolved, seeds)
	}
}

// TestNeverWider checks docs/policy.md "Rules add up": removing a rule that grants makes
// nothing reachable, and neither does a denial more.
func TestNeverWider(t *testing.T) {
	added, removed := 0, 0
	seeds := testkit.Rounds(150, 4000)
	for seed := range int64(seeds) {
		g := &generator{rand.New(rand.NewSource(seed)), seed%2 == 0, hotNames}
		h, rules := g.host(), g.rules()
		before, err := resolveRules(h, rules)
		if err != nil {
			continue
		}
		probes := g.probes(h)
		if after, err := resolveRules(h, append(rules[:len(rules):len(rules)], g.denial())); err == nil {
			added++
			for _, p := range probes {
				if wider := after.RightsAt(p) &^ before.RightsAt(p); wider != 0 {
					t.Fatalf("seed %d: a denial more gives %s at %s\n%+v\n%s\n%s", seed, wider, p, rules, printProfile(before), printProfile(after))
				}
				for op := policy.OpRead; op <= policy.OpRemove; op++ {
					// An added rule may pin another name. It never unpins one.
					if after.Allows(op, p) && !before.Allows(op, p) {
						t.Fatalf("seed %d: a denial more allows %s of %s\n%+v\n%s\n%s", seed, op, p, rules, printProfile(before), printProfile(after))
					}
				}
			}
		}
		i := g.Intn(len(rules))
		if rules[i].Deny != 0 {
			continue
		}
		fewer := append(append([]policy.FsRule{}, rules[:i]...), rules[i+1:]...)
		if after, err := resolveRules(h, fewer); err == nil {
			removed++
			for _, p := range probes {
				if wider := after.RightsAt(p) &^ before.RightsAt(p); wider != 0 {
					t.Fatalf("seed %d: removing %+v gives %[5]s at %[3]s\n%+v", seed, rules[i], p, rules, wider)
				}
			}
		}
	}
	if added < seeds*3/20 || removed < seeds/20 {
		t.Errorf("only %d and %d cases", added, removed)
	}
}

// checkCanonical checks that no entry's path has a symbolic link in it, and that a
// relative rule grants nothing outside the workspace.
func checkCanonical(t *testing.T, h fakeHost, rules []policy.FsRule, p *policy.Profile) {
	t.Helper()
	for _, e := range p.Entries {
		for d := e.Path; d != "/"; d = path.Dir(d) {
			if h[d].mode&fs.ModeSymlink != 0 && !(d == e.Path && e.Rights == 0 && e.Origin == policy.OriginSensitive) {
				t.Fatalf("entry %s goes through the link %s", e.Path, d)
			}
		}
		if e.Origin == policy.OriginRule && !strings.HasPrefix(e.Named, "~") && !strings.HasPrefix(e.Named, "/") && !policy.Within(e.Path, "/home/u/proj") {
			t.Fatalf("the relative rule %q grants %s", e.Named, e.Path)
		}
	}
	for _, l := range p.Links {
		if h[l.Path].text != l.Target {
			t.Fatalf("link %v is not on the host", l)
		}
	}
}

func TestResolveProperties(t *testing.T) {
	for seed := range int64(testkit.Rounds(100, 2000)) {
		g := &generator{rand.New(rand.NewSource(seed)), true, append(hotNames, "..")}
		h, rules := g.host(), g.rules()
		p, err := resolveRules(h, rules)
		if err != nil {
			if !expectedError(err) {
				t.Fatalf("seed %d: %v", seed, err)
			}
			continue
		}
		checkProfile(t, p)
		checkCanonical(t, h, rules, p)
		again, err := resolveRules(h, rules)
		if err != nil || !p.SameJail(again) {
			t.Fatalf("seed %d: not deterministic: %v", seed, err)
		}
		if t.Failed() {
			t.Fatalf("seed %d %+v", seed, rules)
		}
	}
}

// find agrees with the kernel on real trees.
func TestFindAgainstKernel(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	testkit.Must(t, err)
	host, err := hostfs.LocalHost()
	testkit.Must(t, err)
	for seed := range int64(testkit.Rounds(15, 100)) {
		g := &generator{rand.New(rand.NewSource(seed)), true, plainNames}
		dir := filepath.Join(root, fmt.Sprint(seed))
		for range 30 {
			p := filepath.Join(dir, g.rel())
			if g.Intn(2) == 0 {
				_ = os.MkdirAll(p, 0o755)
				continue
			}
			_ = os.MkdirAll(filepath.Dir(p), 0o755)
			_ = os.Symlink([]string{"", "../", dir + "/", "./"}[g.Intn(4)]+g.rel(), p)
		}
		fd := hostfs.NewLinkResolver(&host)
		for range 100 {
			p := filepath.Join(dir, g.rel())
			want, werr := filepath.EvalSymlinks(p)
			got, err := fd.Resolve(p)
			switch {
			case werr == nil:
				if err != nil || !got.Exists() || got.Path != want {
					t.Fatalf("%s: %+v, %v; want %s", p, got, err, want)
				}
				if fi, _ := os.Stat(want); fi.IsDir() != got.Info.Mode.IsDir() {
					t.Fatalf("%s: %v", p, got.Info.Mode)
				}
			case errors.Is(werr, fs.ErrNotExist):
				if err == nil && got.Exists() {
					t.Fatalf("%s: %+v; the kernel says %v", p, got, werr)
				}
			default:
				if err == nil && got.Exists() {
					t.Fatalf("%s: %+v; the kernel says %v", p, got, werr)
				}
			}
		}
	}
}
