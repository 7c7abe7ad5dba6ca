package policy

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

func mediated() *Profile {
	return &Profile{
		Entries: []Entry{
			{Path: "/home/.private", Kind: KindDir, Rights: Read | Write, Origin: OriginHome},
			{Path: "/w", Kind: KindDir, Rights: Read | Write, Origin: OriginRule},
			{Path: "/w/granted/.vscode", Kind: KindDir, Rights: Read | Write, Origin: OriginRule},
			{Path: "/w/repo/.git/hooks", Kind: KindDir, Rights: Read, Origin: OriginProtected},
			{Path: "/w/ro", Kind: KindDir, Rights: Read, Origin: OriginRule},
		},
		Unprotected: []string{"/w/later", "/w/conf/app/key"},
	}
}

// opOf returns the operation of a name, 0 for one that is none.
func opOf(name string) Op {
	return Op(max(0, slices.Index(opNames[:], name)))
}

func verdictOf(v Verdict) string {
	return map[Verdict]string{Granted: "Granted", Forbidden: "Forbidden", Pinned: "Pinned", Crossing: "Crossing"}[v]
}

func TestMediate(t *testing.T) {
	p := mediated()
	for _, row := range testkit.Rows(t, "mediated.txt", 3) {
		op, path, want := row[0], row[1], row[2]
		if got := verdictOf(p.Mediate(opOf(op), path)); got != want {
			t.Errorf("%s %s: %s, want %s", op, path, got, want)
		}
	}
}

// TestMediateAttributes checks that a server without the right to write a file can change
// neither its mode nor its times. It can change no attributes of paths that no entry
// covers.
func TestMediateAttributes(t *testing.T) {
	p := mediated()
	for _, row := range testkit.Rows(t, "attributes.txt", 2) {
		path, want := row[0], row[1]
		if got := verdictOf(p.Mediate(OpAttributes, path)); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

func TestMediateRename(t *testing.T) {
	p := mediated()
	for _, row := range testkit.Rows(t, "renames.txt", 4) {
		src, dst, held, want := row[0], row[1], row[2], row[3]
		has := strings.Fields(held)
		holds := func(name string) bool {
			if name == "" {
				name = "dir"
			}
			return slices.Contains(has, name)
		}
		if got := verdictOf(p.MediateRename(src, dst, holds, true)); got != want {
			t.Errorf("%s to %s (%s): %s, want %s", src, dst, held, got, want)
		}
	}
}

// TestMediateIsNoWider checks that, on paths that an entry covers, Mediate never grants an
// operation that Allows refuses. Other tests compare the mounts and Landlock with Allows.
func TestMediateIsNoWider(t *testing.T) {
	p := mediated()
	for _, path := range []string{"/w/x", "/w/ro/x", "/w/.envrc", "/w/repo/.git/hooks/x", "/w/later/y", "/home/.private/x"} {
		for op := OpRead; op <= OpRemove; op++ {
			if p.Mediate(op, path) == Granted && !p.Allows(op, path) {
				t.Errorf("%s %s", op, path)
			}
		}
	}
}

// TestPackaged checks that files in a node_modules belong to a package, wherever the grant
// begins. Git directories do not, and neither does a workspace that itself lies in a
// node_modules.
func TestPackaged(t *testing.T) {
	rw := Read | Write
	p := &Profile{Entries: []Entry{
		{Path: "/deep/node_modules/w", Kind: KindDir, Rights: rw, Origin: OriginRule},
		{Path: "/n/node_modules", Kind: KindDir, Rights: rw, Origin: OriginRule},
		{Path: "/none/node_modules", Kind: KindDir, Origin: OriginRule},
		{Path: "/none/node_modules/w", Kind: KindDir, Rights: rw, Origin: OriginRule},
		{Path: "/read/node_modules", Kind: KindDir, Rights: Read, Origin: OriginRule},
		{Path: "/read/node_modules/w", Kind: KindDir, Rights: rw, Origin: OriginRule},
		{Path: "/w", Kind: KindDir, Rights: rw, Origin: OriginRule},
		{Path: "/w/node_modules", Kind: KindDir, Rights: rw | Execute, Origin: OriginRule},
		{Path: "/w/node_modules/p/q", Kind: KindDir, Rights: rw, Origin: OriginRule},
	}}
	for _, row := range testkit.Rows(t, "packaged.txt", 2) {
		name, guarded := row[0], row[1] == "true"
		if got := p.Protects(OpMkdir, name); got != guarded {
			t.Errorf("%s is guarded: %v", name, got)
		}
	}
}

// TestMediateLink: a second name gives a file no more rights. Where there are mounts, these hold all but writing.
func TestMediateLink(t *testing.T) {
	p := mediated()
	p.Entries = append(p.Entries, Entry{Path: "/w/secret", Kind: KindFile, Origin: OriginSensitive}, Entry{Path: "/w/shown", Kind: KindDir, Rights: Write, Origin: OriginRule})
	for _, c := range []struct {
		op              Op
		src, dst        string
		mounts, without Verdict
	}{
		{OpCreate, "/w/a", "/w/b", Granted, Granted},
		{OpCreate, "/w/.envrc", "/w/b", Crossing, Crossing},
		{OpCreate, "/w/ro/x", "/w/b", Crossing, Crossing},
		{OpCreate, "/w/shown/x", "/w/b", Granted, Crossing},
		{OpCreate, "/w/a", "/w/.envrc", Forbidden, Forbidden},
		{OpSymlink, "/w/a", "/w/r/.git/modules/x", Forbidden, Forbidden},
	} {
		if with, without := p.MediateLink(c.op, c.src, c.dst, true), p.MediateLink(c.op, c.src, c.dst, false); with != c.mounts || without != c.without {
			t.Errorf("%s to %s: %d and %d, want %d and %d", c.src, c.dst, with, without, c.mounts, c.without)
		}
	}
}
