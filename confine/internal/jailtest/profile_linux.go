package jailtest

import (
	"os"
	"slices"
	"sort"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/stub"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Grant is a path with the rights that a profile gives.
type Grant struct {
	Path   string
	Rights policy.Rights
}

// Profile returns the profile of the attacker: the grants, and the directories that a program
// linked to the C library needs.
func Profile(t testing.TB, grants ...Grant) *policy.Profile {
	t.Helper()
	p := &policy.Profile{
		Server: "test", Program: Binary, Argv: []string{attacker.Name}, Dir: "/",
		Env: []policy.Variable{{Name: "PATH", Value: "/usr/bin"}},
	}
	grants = append(slices.Clone(grants), Grant{Binary, policy.Read | policy.Execute})
	for _, dir := range []string{"/bin", "/lib", "/lib64", "/usr"} {
		if target, err := os.Readlink(dir); err == nil {
			p.Links = append(p.Links, policy.Link{Path: dir, Target: target})
		} else if _, err := os.Stat(dir); err == nil {
			grants = append(grants, Grant{dir, policy.Read | policy.Execute})
		}
	}
	for _, g := range grants {
		if !slices.ContainsFunc(p.Entries, func(e policy.Entry) bool { return e.Path == g.Path }) {
			p.Entries = append(p.Entries, Entry(t, g))
		}
	}
	SortEntries(p)
	// If "/" is granted, no link lies outside the entries.
	p.Links = slices.DeleteFunc(p.Links, func(l policy.Link) bool { return p.RightsAt(l.Path) != 0 })
	return p
}

// Entry returns the entry of a grant, with the identity that the path has now.
func Entry(t testing.TB, g Grant) policy.Entry {
	t.Helper()
	e := policy.Entry{Path: g.Path, Named: g.Path, Rights: g.Rights, Origin: policy.OriginRule, Rule: "path = " + g.Path}
	fd, err := jail.OpenLast(&stub.Task{}, unix.AT_FDCWD, g.Path)
	if err != nil {
		t.Fatalf("%s: %v", g.Path, err)
	}
	defer unix.Close(fd)
	if e.ID, err = Identity(fd); err != nil {
		t.Fatal(err)
	}
	fi := testkit.Get(os.Lstat(g.Path))(t)
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

// SortEntries sorts the entries of a profile by path, as Resolve does.
func SortEntries(p *policy.Profile) {
	sort.Slice(p.Entries, func(i, j int) bool { return p.Entries[i].Path < p.Entries[j].Path })
}

// Identity returns the identity of the object that a descriptor refers to.
func Identity(fd int) (id policy.FileID, err error) {
	err = jail.Identify(&stub.Task{}, fd, func(found policy.FileID) error { id = found; return nil })
	return id, err
}
