package records

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// mergeOld makes one note of all notes of a server but the newest maxPlaces. Those of a configured server are
// merged by themselves: see Writes.
func mergeOld(notes []note, server string) []note {
	count := 0
	for _, n := range notes {
		if n.Server == server && n.Key != "" {
			count++
		}
	}
	merged := map[bool]map[string]policy.WriteGrant{}
	kept := slices.DeleteFunc(notes, func(n note) bool {
		if n.Server != server || n.Key != "" && count <= maxPlaces {
			return false
		}
		if n.Key != "" {
			count--
		}
		if merged[n.Configured] == nil {
			merged[n.Configured] = map[string]policy.WriteGrant{}
		}
		for _, w := range n.Writes {
			addWritten(merged[n.Configured], w.Rules)
		}
		return true
	})
	for _, configured := range []bool{false, true} {
		if rules := coverPaths(merged[configured], maxMerged); len(rules) > 0 {
			name := fmt.Sprintf("an earlier start of the server %q", server)
			kept = append(kept, note{Server: server, Configured: configured, Writes: []policy.WriterRules{{Name: name, Rules: rules}}})
		}
	}
	return kept
}

// addWritten adds the paths that rules let a server write, and leaves out exceptions in them: the
// rules of another start may have none.
func addWritten(to, rules map[string]policy.WriteGrant) {
	for p, grant := range rules {
		if grant.Rights &= policy.Write; grant.Rights == 0 {
			continue
		}
		grant.Deny = 0
		if have, ok := to[p]; ok {
			grant.Rights |= have.Rights
		}
		to[p] = grant
	}
}

// coverPaths drops the paths that others cover. While more than limit are left, a directory takes
// the place of the two that share the longest beginning, and of all others inside.
func coverPaths(rules map[string]policy.WriteGrant, limit int) map[string]policy.WriteGrant {
	for {
		sorted := slices.SortedFunc(maps.Keys(rules), func(a, b string) int { return slices.Compare(strings.Split(a, "/"), strings.Split(b, "/")) })
		for _, p := range sorted { // a directory is before its content
			grant := rules[p]
			around := policy.WriterRules{Rules: rules}.Sum(path.Dir(p), nil)
			if p == "/" {
				around = policy.WriteGrant{}
			}
			if grant.Rights&^around.Rights == 0 {
				delete(rules, p)
				continue
			}
			// What may write a directory may write its content.
			grant.Rights |= around.Rights
			rules[p] = grant
		}
		sorted = slices.DeleteFunc(sorted, func(p string) bool { _, left := rules[p]; return !left })
		if len(sorted) <= limit {
			return rules
		}
		// Sorted by components, the two that share most are neighbours.
		best, longest := "/", -1
		for i := range sorted[1:] {
			dir := commonDir(sorted[i], sorted[i+1])
			if n := strings.Count(strings.TrimSuffix(dir, "/"), "/"); n > longest {
				best, longest = dir, n
			}
		}
		var rights policy.Rights
		for _, p := range sorted {
			if policy.Within(p, best) {
				rights |= rules[p].Rights
				delete(rules, p)
			}
		}
		rules[best] = policy.WriteGrant{Rights: rights, Rule: "grants of several paths inside"}
	}
}

func commonDir(a, b string) string {
	for a != path.Dir(a) && !policy.Within(b, a) {
		a = path.Dir(a)
	}
	return a
}
