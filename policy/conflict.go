package policy

import (
	"fmt"
	"path"
	"sort"
	"strings"
)

// ConflictError is a pair of rules that no kernel mechanism can enforce
// together. Landlock adds up the rights of all rules along a path. Only a mount can reduce
// them: to nothing, to read-only, or by the right to execute (docs/policy.md
// "Filesystem rules", What can be enforced). Rules that would need a finer mount are not
// approximated: check, plan and run all refuse them.
type ConflictError struct {
	Narrow, Wide string // the two rules, as file:line: path = "..."
	Keep         Rights // the rights that the narrow rule keeps
	Lost         Rights // rights that the narrow rule takes away, and no mount can
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

// unenforceable returns the part of union minus rights that no mount can take away. union
// is the sum of all wider grants. A mask between them does not reset it, because
// Landlock's rules reach through mount points.
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

// A Grant is the input of FindConflict: a rule before the disk is known, an entry
// afterwards.
type Grant struct {
	Path   string
	Rights Rights
	Rule   string
	Shared bool // other grants have the same rule
}

func (g Grant) label() string {
	if g.Shared {
		return g.Rule + " at " + g.Path
	}
	return g.Rule
}

// FindConflict returns a *[ConflictError] for the first grant that cannot be enforced below
// the wider ones, or nil. grants must be sorted by path, without duplicates.
func FindConflict(grants []Grant) error {
	at := make(map[string]*Grant, len(grants))
	for i := range grants {
		at[grants[i].Path] = &grants[i]
	}
	for _, g := range grants {
		if g.Rights == 0 {
			continue
		}
		// Mounts and Landlock add up what all wider grants give, so their union is what would hold here.
		var union Rights
		var wider []*Grant
		for p := g.Path; p != path.Dir(p); {
			p = path.Dir(p)
			if w, ok := at[p]; ok {
				union |= w.Rights
				wider = append(wider, w)
			}
		}
		bad := unenforceable(union, g.Rights)
		if bad == 0 {
			continue
		}
		for _, w := range wider { // the nearest one that grants what is lost
			if w.Rights&bad != 0 {
				return &ConflictError{Narrow: g.label(), Wide: w.label(), Keep: g.Rights, Lost: bad, WideRights: w.Rights}
			}
		}
	}
	return nil
}

// findLexicalConflict looks for conflicts between rules as they are written. Paths in the
// workspace, in the home directory and absolute paths are three separate trees, because
// only the host can join them.
func findLexicalConflict(rules []FsRule) error {
	at := map[string]Grant{}
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
		at[p] = Grant{Path: p, Rights: r.Rights(), Rule: r.Label()}
	}
	return FindConflict(sortedGrants(at))
}

func sortedGrants(at map[string]Grant) []Grant {
	out := make([]Grant, 0, len(at))
	for _, g := range at {
		out = append(out, g)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Path < out[j].Path })
	return out
}
