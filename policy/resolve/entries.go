package resolve

import (
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// An entrySet has the entries of one profile by their paths. It is a map, because the entries are few
// and change while they are collected.
type entrySet map[string]policy.Entry

// find is Profile.Find on the entries collected so far.
func (b entrySet) find(p string) (policy.Entry, bool) {
	for {
		if e, ok := b[p]; ok {
			return e, true
		}
		if p == "/" {
			return policy.Entry{}, false
		}
		p, _ = hostfs.Split(p)
	}
}

func (b entrySet) sorted() []policy.Entry {
	out := make([]policy.Entry, 0, len(b))
	for _, e := range b {
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b policy.Entry) int { return strings.Compare(a.Path, b.Path) })
	return out
}

func (b entrySet) insideRule(p string) bool {
	for p != path.Dir(p) {
		p = path.Dir(p)
		if e, ok := b[p]; ok && e.Origin == policy.OriginRule {
			return e.Rights != 0
		}
	}
	return false
}

func (b entrySet) rightsAround(p string) (rights policy.Rights) {
	for p != path.Dir(p) {
		p = path.Dir(p)
		rights |= b[p].Rights
	}
	return rights
}

func (b entrySet) grantsWrite() bool {
	for _, e := range b {
		if e.Origin == policy.OriginRule && e.Rights&policy.Write != 0 {
			return true
		}
	}
	return false
}

func (b entrySet) empty(p, written string) {
	if e, ok := b[p]; ok {
		e.Rights, e.Origin, e.Named, e.Rule, e.Make, e.Ephemeral = 0, policy.OriginSensitive, written, "sensitive: "+written, false, false
		b[p] = e
	}
}

func entryGrants(entries []policy.Entry) []policy.Grant {
	out := make([]policy.Grant, len(entries))
	for i, e := range entries {
		out[i] = policy.Grant{Path: e.Path, Rights: e.Rights, Rule: e.Rule, Shared: e.Origin != policy.OriginRule}
	}
	return out
}
