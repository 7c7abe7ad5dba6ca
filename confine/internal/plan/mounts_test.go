package plan

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
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
	const own = "tmpfs /tmp dir\ntmpfs /dev/shm dir\n"
	for _, c := range []struct {
		name, entries, want, gaps string
	}{
		{"nothing", "", own, ""},
		{"read-only and writable", "/r r, /w rcud", own + "bind /r dir ro\nbind /w dir", ""},
		{"a carve-out pins what lies between", "/w rcud, /w/a/b/c r",
			own + "bind /w dir\nbind /w/a dir inside\nbind /w/a/b dir inside\nbind /w/a/b/c dir ro inside", ""},
		{"two share a pin", "/w rcud, /w/a/b r, /w/a/c/d r",
			own + "bind /w dir\nbind /w/a dir inside\nbind /w/a/b dir ro inside\nbind /w/a/c dir inside\nbind /w/a/c/d dir ro inside", ""},
		{"no pins in what is read-only", "/w r, /w/a/b rcud", own + "bind /w dir ro\nbind /w/a/b dir inside", ""},
		{"execution taken away, and given back", "/w rcudx, /w/a rcud, /w/a/b rx",
			own + "bind /w dir\nbind /w/a dir noexec inside\nbind /w/a/b dir ro inside", ""},
		{"a pin is as little executable as what it lies in", "/w rx, /w/a rcud, /w/a/b/c r",
			own + "bind /w dir ro\nbind /w/a dir noexec inside\nbind /w/a/b dir noexec inside\nbind /w/a/b/c dir ro noexec inside", ""},
		{"the host's /dev lies below the jail's own /dev/shm", "/dev r", "bind /dev dir ro dev\n" + own, ""},
		{"a fifo that can be read alone", "/w rcud, /w/f r special", own + "bind /w dir\nbind /w/f ro inside", "rule of /w/f: no update"},
		{"masks", "/w rcud, /w/d -, /w/f - file", own + "bind /w dir\nmask /w/d dir inside\nmask /w/f inside", ""},
		{"a mask with a hole", "/w r, /w/d -, /w/d/a/f r file",
			own + "bind /w dir ro\nmask /w/d dir inside holes\nbind /w/d/a/f ro hidden", ""},
		{"a mask in a mask", "/w r, /w/d -, /w/d/e -", own + "bind /w dir ro\nmask /w/d dir inside", ""},
		{"nothing where nothing is", "/w -", own, ""},
		{"a file's create and delete mean nothing", "/w rcud, /w/f cd file", own + "bind /w dir\nmask /w/f inside", ""},
		{"a file among writable ones", "/w rcd, /w/f r file", own + "bind /w dir\nbind /w/f ro inside", ""},
		{"the host's /tmp", "/tmp rcud", "tmpfs /dev/shm dir\nbind /tmp dir", ""},
		{"below the private /tmp", "/tmp/x r", own + "bind /tmp/x dir ro noexec", ""},
		{"a device", "/dev/kvm ru special", own + "bind /dev/kvm dev", ""},
		{"the root", "/ r, /w rcud", "bind / dir ro\n" + own + "bind /w dir inside", ""},
		{"no mount is between", "/w rcud, /w/a ru", own + "bind /w dir\nbind /w/a dir inside", "rule of /w/a: exactly read update"},
		{"nor write-only", "/w r, /w/a cud", own + "bind /w dir ro\nbind /w/a dir inside", "rule of /w/a: exactly write"},
		{"nor in the private /tmp", "/tmp/x ru", own + "bind /tmp/x dir noexec", "rule of /tmp/x: exactly read update"},
		{"a copy", "/h rcudx copy", own + "copy /h dir", ""},
		{"a copy inside", "/w rcud, /w/a/h rcudx copy", own + "bind /w dir\nbind /w/a dir inside\ncopy /w/a/h dir inside", ""},
		{"what lies between in a copy is no object of the host", "/h rcudx copy, /h/a/b rx, /h/a/m -, /h/s rcudx",
			own + "copy /h dir\npin /h/a dir inside\nbind /h/a/b dir ro inside copied\nmask /h/a/m dir inside copied\nbind /h/s dir inside copied", ""},
		{"but what lies in such a grant is", "/h rcudx copy, /h/s rcudx, /h/s/a/b rx", own + "copy /h dir\nbind /h/s dir inside copied\nbind /h/s/a dir inside\nbind /h/s/a/b dir ro inside", ""},
		{"no copies", "/h rcudx empty, /h/a/b rx, /h/m -", own + "tmpfs /h dir\nbind /h/a/b dir ro", ""},
		{"no copies, inside", "/w rcud, /w/a/h rcudx empty, /w/a/h/x rx", own + "bind /w dir\nbind /w/a dir inside\ntmpfs /w/a/h dir inside\nbind /w/a/h/x dir ro", ""},
		{"the host's /proc", "/proc/1 r", own, "rule of /proc/1 (fatal)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var entries []string
			if c.entries != "" {
				entries = strings.Split(c.entries, ", ")
			}
			mounts, gaps := mountsOf(t, entries...)
			if got := strings.Join(mounts, "\n"); got != strings.TrimSpace(c.want) {
				t.Errorf("mounts\n%s\nwant\n%s", got, c.want)
			}
			if got := strings.Join(gaps, "\n"); got != c.gaps {
				t.Errorf("gaps %q, want %q", got, c.gaps)
			}
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
