package records

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/private"
	"github.com/mcp-jail/mcp-jail/policy"
)

// mergedName returns the name of the merged note about a server. It is no hash, as in writesName.
// Notes of a configured server are merged by themselves: see Writes.
func mergedName(server string, configured bool) string {
	if configured {
		return server + ".merged-configured.json"
	}
	return server + ".merged.json"
}

func mergeOld(d *private.Dir, server string) error {
	old, err := oldNotes(d, server)
	if len(old) == 0 || err != nil {
		return err
	}
	unlock, err := d.Lock(private.Exclusive)
	if err != nil {
		return nil // another start merges, or no lock can be had here: the notes stay, and all count
	}
	defer unlock()
	for _, name := range old {
		n, err := readNote(d, name)
		if err != nil {
			return err
		}
		into := mergedName(server, n.Configured)
		merged, err := readNote(d, into)
		if err != nil {
			return err
		}
		rules := map[string]policy.WriteGrant{}
		for _, w := range append(merged.Writes, n.Writes...) {
			addWritten(rules, w.Rules)
		}
		if rules = coverPaths(rules, maxMerged); len(rules) > 0 {
			text, err := json.Marshal(note{n.Configured, []policy.WriterRules{{Name: fmt.Sprintf("an earlier start of the server %q", server), Rules: rules}}})
			if err == nil {
				err = d.Replace(into, text, private.How{})
			}
			if err != nil {
				return err
			}
		}
		if err := d.Remove(name); err != nil {
			return err
		}
	}
	return nil
}

// oldNotes returns the names of a server's notes except the newest maxPlaces, and except merged
// ones.
func oldNotes(d *private.Dir, server string) ([]string, error) {
	entries, err := d.Names()
	if err != nil {
		return nil, err
	}
	written := map[string]int64{}
	var notes []string
	for _, e := range entries {
		if of, ok := serverOfNote(e.Name()); !ok || of != server || e.Name() == mergedName(server, false) || e.Name() == mergedName(server, true) {
			continue
		}
		if info, err := d.Lstat(e.Name()); err == nil {
			notes, written[e.Name()] = append(notes, e.Name()), info.ModTime().UnixNano()
		}
	}
	slices.SortFunc(notes, func(a, b string) int { return cmp.Compare(written[a], written[b]) })
	return notes[:max(0, len(notes)-maxPlaces)], nil
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
