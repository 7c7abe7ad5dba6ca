// Package entries has the entries and the rules of a profile while it is made.
package entries

import (
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// A Set has the entries of one profile by their paths. It is a map, because the entries are few
// and change while they are collected.
type Set map[string]policy.Entry

// Find is Profile.Find on the entries collected so far.
func (b Set) Find(p string) (policy.Entry, bool) {
	for {
		e, ok := b[p]
		dir, _ := hostfs.Split(p)
		if ok || dir == p || dir == "." { // a path of Windows has no slash
			return e, ok
		}
		p = dir
	}
}

// Sorted returns the entries by their paths.
func (b Set) Sorted() []policy.Entry {
	out := make([]policy.Entry, 0, len(b))
	for _, e := range b {
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b policy.Entry) int { return strings.Compare(a.Path, b.Path) })
	return out
}

// InsideRule reports whether the nearest rule around a path grants something.
func (b Set) InsideRule(p string) bool {
	for p != path.Dir(p) {
		p = path.Dir(p)
		if e, ok := b[p]; ok && e.Origin == policy.OriginRule {
			return e.Rights != 0
		}
	}
	return false
}

// RightsAround returns the rights of all entries around a path together.
func (b Set) RightsAround(p string) (rights policy.Rights) {
	for p != path.Dir(p) {
		p = path.Dir(p)
		rights |= b[p].Rights
	}
	return rights
}

// GrantsWrite reports whether a rule grants a right to write.
func (b Set) GrantsWrite() bool {
	for _, e := range b {
		if e.Origin == policy.OriginRule && e.Rights&policy.Write != 0 {
			return true
		}
	}
	return false
}

// Empty takes every right from an entry, if there is one, because its path is sensitive.
func (b Set) Empty(p, written string) {
	if e, ok := b[p]; ok {
		e.Rights, e.Origin, e.Named, e.Rule, e.Make, e.Ephemeral = 0, policy.OriginSensitive, written, "sensitive: "+written, false, false
		b[p] = e
	}
}

// A Target is a rule with the path that it leads to.
type Target struct {
	Rule      policy.FsRule
	Lexical   string // absolute and clean, symbolic links not followed
	Canonical string
	Links     []policy.Link // crossed on the way
}
