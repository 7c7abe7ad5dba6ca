package places

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	"github.com/mcp-jail/mcp-jail/policy"
)

//go:embed builtin.txt
var builtin string

// The kinds of places. All but the first decide what runs outside of the jail.
const (
	sensitive = "sensitive"
	deciding  = "deciding"
	clients   = "clients"
	Programs  = "programs" // started by name
	Packages  = "packages" // stores and caches
	Managers  = "managers" // directories of version managers
	InPath    = "path"     // directories of PATH
)

// A group has the rows below one heading of builtin.txt.
type group struct {
	kind, why string
	systems   []string // none: all
	rows      []string
}

// groups are those of builtin.txt. A start waits for it, so their rows stay in the one list of its lines.
var groups = sync.OnceValue(func() []group {
	lines := strings.Split(builtin, "\n")
	all, kept := make([]group, 0, 48), lines[:0]
	from := 0
	for _, line := range lines {
		if head, ok := strings.CutPrefix(line, "== "); ok {
			head, why, _ := strings.Cut(head, ": ")
			kind, systems, _ := strings.Cut(head, " on ")
			all, from = append(all, group{kind: kind, why: why, systems: strings.Fields(systems)}), len(kept)
		} else if line != "" && line[0] != '#' {
			kept = append(kept, line)
			all[len(all)-1].rows = kept[from:len(kept):len(kept)]
		}
	}
	return all
})

// groupsOf returns the groups of some kinds on a system, as in runtime.GOOS.
func groupsOf(os string, kinds ...string) (of []group) {
	for _, g := range groups() {
		if slices.Contains(kinds, g.kind) && (len(g.systems) == 0 || slices.Contains(g.systems, os)) {
			of = append(of, g)
		}
	}
	return of
}

// Rows returns the rows of a kind that is not of one system.
func Rows(kind string) []string { return rows(kind, "") }

// rows returns the rows of a kind on a system.
func rows(kind, os string) (all []string) {
	for _, g := range groupsOf(os, kind) {
		if all == nil {
			all = g.rows
		} else {
			all = append(all, g.rows...)
		}
	}
	return all
}

// isIn reports whether a path is one of the rows of a kind, or lies in one.
func isIn(kind, os, p string) bool {
	return slices.ContainsFunc(rows(kind, os), func(row string) bool { return policy.Within(p, row) })
}
