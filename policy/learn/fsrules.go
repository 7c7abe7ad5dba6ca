package learn

import (
	"path"
	"slices"

	"github.com/mcp-jail/mcp-jail/policy"
)

// A place is a path that was used, with what was done there. A rule is about it, or a rule for a directory
// around it allows the same.
type place struct {
	path, written string
	dir, inside   bool // inside the workspace
	rights        policy.Rights
	by            *tally
	hides         []string // sensitive paths of the table, if it has a rule for this directory
}

// isNamed reports whether the place has a rule also where one around it allows the same: that one hides it.
func (p place) isNamed() bool { return !p.dir && SecretName(path.Base(p.path)) }

// fsRules makes the rules of places, which are sorted, but for those with a dropped ID. The most specific rule
// decides in full, so each has what the ones around it grant, too. One that adds nothing to them is left out,
// and the rule around it says by whom it was used.
func fsRules(places []place, dropped []string) []Rule {
	final, by := map[string]policy.Rights{}, map[string]*tally{}
	kept := []place{}
	for _, p := range places {
		if slices.Contains(dropped, fsID(p.written)) {
			continue
		}
		up, around := p.path, policy.Rights(0)
		for up != path.Dir(up) && around == 0 {
			up = path.Dir(up)
			around = final[up]
		}
		if around.Has(p.rights) && !p.isNamed() {
			by[up].join(p.by)
			continue
		}
		if !p.dir && (p.rights|around)&policy.Update == 0 {
			around &= policy.FileRights
		}
		p.rights |= around
		own := &tally{}
		own.join(p.by)
		final[p.path], by[p.path] = p.rights, own
		kept = append(kept, p)
	}
	rules := [2][]Rule{} // of the workspace, and others
	for _, p := range kept {
		r := newRule(policy.AxisFs, p.written, by[p.path])
		r.Fs = &policy.FsRule{Path: p.written, Read: p.rights.Has(policy.Read), Create: p.rights.Has(policy.Create), Update: p.rights.Has(policy.Update), Delete: p.rights.Has(policy.Delete), Execute: p.rights.Has(policy.Execute)}
		outside := 1
		if p.inside {
			outside = 0
		}
		rules[outside] = append(rules[outside], r)
	}
	return slices.Concat(rules[0], rules[1])
}

func fsID(written string) string { return string(policy.AxisFs) + ":" + written }
