package plan

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

func mountText(m spec.Mount) string {
	var b strings.Builder
	b.WriteString([]string{"?", "bind", "mask", "tmpfs", "copy", "pin"}[m.Kind])
	b.WriteString(" " + m.Path)
	for _, f := range []struct {
		set  bool
		name string
	}{{m.IsDir, "dir"}, {m.ReadOnly, "ro"}, {m.NoExec, "noexec"}, {m.Dev, "dev"}, {m.OnExisting, "inside"}, {m.InOverlay, "copied"}, {m.UnderMask, "hidden"}, {m.Traversable, "holes"}} {
		if f.set {
			b.WriteString(" " + f.name)
		}
	}
	return b.String()
}

// mountsOf compiles entries written as "path rights" or "path rights file": the third
// word may also be "copy", or "empty" where there are no copies.
func mountsOf(t *testing.T, entries ...string) (texts, gaps []string) {
	t.Helper()
	var list []policy.Entry
	copies := true
	for _, s := range entries {
		f := strings.Fields(s)
		e := policy.Entry{Path: f[0], Named: f[0], Rule: "rule of " + f[0], Kind: policy.KindDir}
		switch {
		case len(f) > 2 && (f[2] == "copy" || f[2] == "empty"):
			e.Ephemeral, copies = true, f[2] == "copy"
			e.Origin = policy.OriginHome
		case len(f) > 2:
			e.Kind = map[string]policy.Kind{"file": policy.KindFile, "special": policy.KindSpecial}[f[2]]
		}
		for i, letter := range "rcudx" {
			if strings.ContainsRune(f[1], letter) {
				e.Rights |= 1 << i
			}
		}
		list = append(list, e)
	}
	slices.SortFunc(list, func(a, b policy.Entry) int { return strings.Compare(a.Path, b.Path) })
	mounts, g := CompileMounts(list, copies)
	for _, m := range mounts {
		texts = append(texts, mountText(m))
	}
	for _, gap := range g {
		text := gap.What
		if gap.Fatal {
			text += " (fatal)"
		}
		gaps = append(gaps, text)
	}
	return texts, gaps
}

func TestMounts(t *testing.T) {
	fill := strings.NewReplacer("$OWN", "tmpfs /tmp dir\ntmpfs /dev/shm dir\n")
	for _, row := range testkit.Rows(t, "mounts.txt", 4) {
		name, written, want, wantGaps := row[0], row[1], fill.Replace(row[2]), row[3]
		t.Run(name, func(t *testing.T) {
			var entries []string
			if written != "" {
				entries = strings.Split(written, ", ")
			}
			mounts, gaps := mountsOf(t, entries...)
			testkit.Equal(t, "mounts", strings.Join(mounts, "\n"), strings.TrimSpace(want))
			testkit.Equal(t, "gaps", strings.Join(gaps, "\n"), wantGaps)
		})
	}
}

// TestMountsComeInOrder: for any entries, a mount is attached after the
// one it lies in, nothing is attached twice, and every entry that a mount must
// hold has one.
func TestMountsComeInOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		var entries []string
		for _, p := range []string{"/w", "/w/a", "/w/a/b", "/w/a-b", "/w/a/b/c", "/w/a/b/c/d", "/tmp/x", "/x/y"} {
			if random.IntN(2) == 0 {
				entries = append(entries, p+" -"+[]string{"", "r", "rx", "rcud", "rcudx"}[random.IntN(5)])
			}
		}
		mounts, _ := mountsOf(t, entries...)
		at := map[string]int{}
		for i, m := range mounts {
			p := strings.Fields(m)[1]
			if _, twice := at[p]; twice {
				t.Fatalf("%v: %s is attached twice:\n%s", entries, p, strings.Join(mounts, "\n"))
			}
			at[p] = i
		}
		for p, i := range at {
			for q, j := range at {
				if p != q && policy.Within(q, p) && j < i {
					t.Fatalf("%v: %s comes before %s:\n%s", entries, q, p, strings.Join(mounts, "\n"))
				}
			}
		}
		for _, e := range entries {
			f := strings.Fields(e)
			if _, ok := at[f[0]]; !ok && f[1] != "-" {
				t.Fatalf("%v: no mount for %s:\n%s", entries, f[0], strings.Join(mounts, "\n"))
			}
		}
	}
}
