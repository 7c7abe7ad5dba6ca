package policy

import (
	"fmt"
	"path"
	"sort"
	"strings"
)

// ConflictError is a pair of rules that no kernel mechanism can enforce
// together. Landlock adds up what the rules along a path grant; only a mount can
// reduce that, to nothing, to reading, or by the right to execute (docs/policy.md
// "Filesystem rules", What can be enforced). What would need a finer mount is not
// approximated: check, plan and run all refuse.
type ConflictError struct {
	Narrow, Wide string // the two rules, as file:line: path = "..."
	Keep         Rights // what the narrow rule keeps
	Lost         Rights // what it takes away and a mount cannot
	WideRights   Rights
}

func (e *ConflictError) Error() string {
	var way string
	if e.Lost.Has(Read) {
		way = "take read from the wider rule, add read to the narrower one, or let the narrower one grant nothing"
	} else {
		way = fmt.Sprintf("give the narrower rule %s too, take all of create, update and delete from it (then it is read-only), or take %s from the wider one", e.Lost, e.Lost)
	}
	return fmt.Sprintf("%s (%s) cannot be enforced below %s (%s):\n"+
		"  it would have to take away %s and keep %s, but below a wider grant a mount can only hide a path, make it read-only or keep programs from starting.\n"+
		"  Write it so that it can be enforced: %s.",
		e.Narrow, e.Keep, e.Wide, e.WideRights, e.Lost, e.Keep, way)
}

// unenforceable returns the part of union minus rights that no mount can take
// away. union is what all wider grants add up to: a mask in between does not
// reset it, because Landlock's rules reach through mount points.
func unenforceable(union, rights Rights) Rights {
	lost := union &^ rights
	if rights == 0 {
		return 0 // a mask
	}
	var bad Rights
	if lost.Has(Read) {
		bad |= Read // there is no write-only mount
	}
	if w := lost & Write; w != 0 && rights&Write != 0 {
		bad |= w // read-only is all of them or none
	}
	return bad // a lost Execute is a mount without exec
}

// grant is what conflicts are searched among: rules by path before the disk is
// known, entries after.
type grant struct {
	path   string
	rights Rights
	rule   string
	many   bool // other grants have the same rule
}

func (g grant) label() string {
	if g.many {
		return g.rule + " at " + g.path
	}
	return g.rule
}

// conflict finds the first pair that cannot be enforced. grants must be sorted
// by path, without duplicates.
func conflict(grants []grant) error {
	at := make(map[string]*grant, len(grants))
	for i := range grants {
		at[grants[i].path] = &grants[i]
	}
	for _, g := range grants {
		if g.rights == 0 {
			continue
		}
		var union Rights
		var wider []*grant
		for p := g.path; p != "/" && p != "."; {
			p = path.Dir(p)
			if w, ok := at[p]; ok {
				union |= w.rights
				wider = append(wider, w)
			}
		}
		bad := unenforceable(union, g.rights)
		if bad == 0 {
			continue
		}
		for _, w := range wider { // the nearest one that grants what is lost
			if w.rights&bad != 0 {
				return &ConflictError{Narrow: g.label(), Wide: w.label(), Keep: g.rights, Lost: bad, WideRights: w.rights}
			}
		}
	}
	return nil
}

// lexicalConflict looks at rules as they are written: those of the workspace,
// of the home directory and absolute ones are three trees that only the host
// can join.
func lexicalConflict(rules []FsRule) error {
	at := map[string]grant{}
	for _, r := range rules {
		p := path.Clean(r.Path)
		switch {
		case strings.HasPrefix(p, "/"):
			p = path.Join("/absolute", p)
		case p == "~" || strings.HasPrefix(p, "~/"):
			p = path.Join("/home", p[1:])
		case p == ".." || strings.HasPrefix(p, "../"):
			continue // leaves the workspace: an error of its own in Resolve
		default:
			p = path.Join("/workspace", p)
		}
		at[p] = grant{path: p, rights: r.Rights(), rule: r.label()}
	}
	return conflict(sortedGrants(at))
}

func sortedGrants(at map[string]grant) []grant {
	out := make([]grant, 0, len(at))
	for _, g := range at {
		out = append(out, g)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].path < out[j].path })
	return out
}

// Rights is the set of rights that the rule grants.
func (r FsRule) Rights() (out Rights) {
	for _, f := range []struct {
		set   bool
		right Rights
	}{{r.Read, Read}, {r.Create, Create}, {r.Update, Update}, {r.Delete, Delete}, {r.Execute, Execute}} {
		if f.set {
			out |= f.right
		}
	}
	return out
}

// label names the rule in messages: `mcp-jail.toml:14: path = "src"`, or the
// flag it came from.
func (r FsRule) label() string {
	if _, line := splitWhere(r.Where); strings.HasPrefix(r.Where, "--") || line == 0 && r.Where != "" {
		return r.Where
	}
	return strings.TrimPrefix(r.Where+": ", ": ") + "path = " + tomlString(r.Path)
}
