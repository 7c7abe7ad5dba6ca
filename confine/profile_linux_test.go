package confine

import (
	"os"
	"slices"
	"sort"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/stub"

	"github.com/mcp-jail/mcp-jail/policy"
)

// grant is an entry to be.
type grant struct {
	path   string
	rights policy.Rights
}

// jailProfile is a profile of a program that needs no more than the C library,
// with the grants on top.
func jailProfile(t testing.TB, grants ...grant) *policy.Profile {
	t.Helper()
	p := &policy.Profile{
		Server: "test", Program: testBinary, Argv: []string{probeName}, Dir: "/",
		Env: []policy.Variable{{Name: "PATH", Value: "/usr/bin"}},
	}
	grants = append(slices.Clone(grants), grant{testBinary, policy.Read | policy.Execute})
	for _, dir := range []string{"/bin", "/lib", "/lib64", "/usr"} {
		if target, err := os.Readlink(dir); err == nil {
			p.Links = append(p.Links, policy.Link{Path: dir, Target: target})
		} else if _, err := os.Stat(dir); err == nil {
			grants = append(grants, grant{dir, policy.Read | policy.Execute})
		}
	}
	for _, g := range grants {
		if !slices.ContainsFunc(p.Entries, func(e policy.Entry) bool { return e.Path == g.path }) {
			p.Entries = append(p.Entries, entryOf(t, g))
		}
	}
	sortEntries(p)
	// A "/" that is granted leaves no link outside of every entry.
	p.Links = slices.DeleteFunc(p.Links, func(l policy.Link) bool { return p.RightsAt(l.Path) != 0 })
	return p
}

func entryOf(t testing.TB, g grant) policy.Entry {
	t.Helper()
	e := policy.Entry{Path: g.path, Named: g.path, Rights: g.rights, Origin: policy.OriginRule, Rule: "path = " + g.path}
	fd, err := openLast(&stub.Task{}, unix.AT_FDCWD, g.path)
	if err != nil {
		t.Fatalf("%s: %v", g.path, err)
	}
	defer unix.Close(fd)
	if e.ID, err = objectOf(fd); err != nil {
		t.Fatal(err)
	}
	fi, err := os.Lstat(g.path)
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case fi.IsDir():
		e.Kind = policy.KindDir
	case fi.Mode().IsRegular():
		e.Kind = policy.KindFile
	default:
		e.Kind = policy.KindSpecial
	}
	return e
}

func sortEntries(p *policy.Profile) {
	sort.Slice(p.Entries, func(i, j int) bool { return p.Entries[i].Path < p.Entries[j].Path })
}

// objectOf is the object that a descriptor stands for.
func objectOf(fd int) (id policy.FileID, err error) {
	err = identify(&stub.Task{}, fd, func(found policy.FileID) error { id = found; return nil })
	return id, err
}
