package resolve

import (
	"io/fs"
	"math/rand"
	"sync/atomic"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// TestRecordingUnchanged checks the promise of Unchanged on random trees that change a
// little: while it returns true, Resolve returns the same result.
func TestRecordingUnchanged(t *testing.T) {
	kept, lost, needless := 0, 0, 0
	seeds := testkit.Rounds(70, 3000) // a fault put in on purpose is found in the first 33
	for seed := range int64(seeds) {
		g := &generator{rand.New(rand.NewSource(seed)), true, hotNames}
		h := g.host()
		rules := g.rules()
		resolve := func(host hostfs.Host) string {
			p, err := resolveOn(host, rules)
			if err != nil {
				return err.Error()
			}
			return p.Key()
		}
		var l hostfs.Recording
		var asked atomic.Bool
		host := h.host()
		lstat := host.Lstat
		host.Lstat = func(p string) (hostfs.FileInfo, error) { asked.Store(true); return lstat(p) }
		before := resolve(l.Record(host))
		if !asked.Load() {
			continue // the rules themselves are wrong
		}
		if !l.Unchanged() {
			t.Fatalf("seed %d: changed, although nothing has changed", seed)
		}
		g.change(h)
		same, after := l.Unchanged(), resolve(h.host())
		switch {
		case same && after != before:
			t.Fatalf("seed %d: no answer has changed, but the result has\nbefore %s\nafter  %s", seed, before, after)
		case same:
			kept++
		case after == before:
			needless++
		default:
			lost++
		}
	}
	// Both answers must occur often enough.
	if t.Log(kept, lost, needless); kept < seeds/30 || lost < seeds/30 {
		t.Errorf("%d times unchanged and %d times changed: too few for this test", kept, lost)
	}
}

// change makes, removes or replaces one file.
func (g *generator) change(h fakeHost) {
	paths := h.paths()
	p := paths[g.Intn(len(paths))]
	if g.Intn(2) == 0 {
		p = "/home/u/proj/" + g.rel()
	}
	if _, there := h[p]; there && !h[p].mode.IsDir() {
		switch g.Intn(4) {
		case 0:
			delete(h, p)
		case 1:
			h[p] = fakeFile{mode: fs.ModeSymlink | 0o777, text: g.rel()}
		case 2:
			f := h[p]
			f.mode ^= 0o111
			h[p] = f
		default:
			f := h[p]
			f.text = "#!/usr/bin/" + g.name() + "\n"
			h[p] = f
		}
	} else if !there && h.canHold(p) {
		h.add([]string{"d ", "f ", "s "}[g.Intn(3)] + p)
	}
}

// TestRecordingNotices checks that a changed answer of each recorded function of Host is noticed.
func TestRecordingNotices(t *testing.T) {
	for name, c := range map[string]struct {
		ask  func(hostfs.Host)
		line string
	}{
		"Lstat":    {func(h hostfs.Host) { h.Lstat("/home/u/proj/f") }, "x /home/u/proj/f"},
		"Readlink": {func(h hostfs.Host) { h.Readlink("/home/u/proj/l") }, "l /home/u/proj/l g"},
		"ReadDir":  {func(h hostfs.Host) { h.ReadDir("/home/u/proj") }, "f /home/u/proj/.env"},
		"ReadHead": {func(h hostfs.Host) { h.ReadHead("/home/u/proj/f", 3) }, "f /home/u/proj/f other"},
		"absent":   {func(h hostfs.Host) { h.Lstat("/home/u/proj/new") }, "f /home/u/proj/new"},
	} {
		h := newFake("d /home/u/proj", "f /home/u/proj/f text", "l /home/u/proj/l f")
		var l hostfs.Recording
		if l.Unchanged() {
			t.Errorf("%s: unchanged, although nothing was asked", name)
		}
		through := l.Record(h.host())
		c.ask(through)
		if !l.Unchanged() {
			t.Errorf("%s: changed, although nothing has changed", name)
		}
		h.add(c.line)
		if l.Unchanged() {
			t.Errorf("%s: unchanged after %q", name, c.line)
		}
	}
}
