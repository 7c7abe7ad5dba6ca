package attacks

import (
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/kernel"
)

// A tableRow is one attack with its findings.
type tableRow struct {
	attack attack
	root   []finding
	user   []finding

	outcome, by string // in the jail
	hostNS      string // in one without namespaces
}

// attackTable returns the text between the markers in docs/attack-matrix.md.
func attackTable(root, user []finding) string {
	var b strings.Builder
	attacks, forms, tried := 0, 0, 0
	var body strings.Builder
	for _, g := range allAttacks() {
		fmt.Fprintf(&body, "\n**%s**\n\n| attack | variants | outcome | blocked by | without namespaces |\n|---|---|---|---|---|\n", g.title)
		for _, a := range g.attacks {
			r := newRow(g.title, a, root, user)
			attacks, forms = attacks+1, forms+len(r.root)
			for _, f := range r.root {
				if f.possible() {
					tried++
				}
			}
			fmt.Fprintf(&body, "| %s | %d%s | %s | %s | %s |\n", a.what, len(r.root), r.who(), r.outcome, r.by, r.hostNS)
		}
	}
	f := kernel.Detect()
	fmt.Fprintf(&b, "Linux %s, Landlock ABI %d, %s: %d attacks in %d variants; %d succeed here without a jail.\n", release(f.Kernel), f.LandlockABI, runtime.GOARCH, attacks, forms, tried)
	return b.String() + body.String()
}

// release returns the first two numbers of a kernel's version.
func release(s string) string {
	parts := strings.SplitN(s, ".", 3)
	return strings.Join(parts[:min(2, len(parts))], ".")
}

func newRow(group string, a attack, root, user []finding) tableRow {
	r := tableRow{attack: a}
	of := func(all []finding) (out []finding) {
		for _, f := range all {
			if f.Group == group && f.Attack == a.what {
				out = append(out, f)
			}
		}
		return out
	}
	r.root, r.user = of(root), of(user)
	var control []string
	for _, f := range r.all() {
		control = append(control, f.In[unjailed])
	}
	if r.possible() == nil {
		r.outcome, r.by, r.hostNS = "not possible here: "+distinct(control), "–", "–"
		return r
	}
	open := ""
	if r.outcome, open = r.in(jail); open != "" {
		r.outcome, r.by = "**succeeds**", a.allowed
	} else {
		r.by = r.refusedBy(a.walls)
	}
	switch r.hostNS, open = r.in(hostNSJail); {
	case open == "":
	case a.allowed != "":
		r.hostNS = "succeeds"
	case r.hostNS == "":
		r.hostNS = "gap"
	default:
		r.hostNS += "; gap in " + open
	}
	return r
}

func (r *tableRow) all() []finding { return slices.Concat(r.root, r.user) }

// possible returns the findings of forms that succeed outside a jail.
func (r *tableRow) possible() (out []finding) {
	for _, f := range r.all() {
		if f.possible() {
			out = append(out, f)
		}
	}
	return out
}

// in returns the outcomes of the forms that were refused in a world, and in how many forms the
// attack succeeded there ("" for none).
func (r *tableRow) in(w world) (refused, open string) {
	var how []string
	tried, through := map[string]bool{}, map[string]bool{}
	for _, f := range r.possible() {
		tried[f.Form] = true
		if o := f.In[w]; attacker.Holds(o) {
			how = append(how, o)
		} else {
			through[f.Form] = true
		}
	}
	if len(through) > 0 {
		open = fmt.Sprintf("%d of %d", len(through), len(tried))
	}
	return distinct(how), open
}

func distinct(s []string) string {
	s = slices.Clone(s)
	slices.Sort(s)
	return strings.Join(slices.Compact(s), ", ")
}

// who names the only user for whom the attack succeeds without a jail, if there is such a user.
func (r *tableRow) who() string {
	can := func(all []finding) bool {
		return slices.ContainsFunc(all, func(f finding) bool { return f.possible() })
	}
	switch root, user := can(r.root), can(r.user); {
	case root && !user:
		return " (root)"
	case user && !root:
		return " (user)"
	}
	return ""
}

// refusedBy names the walls of which each alone refuses all forms of the attack. Walls that
// refuse some forms are in parentheses. Mediation is tried on top of namespaces, if
// namespaces alone do not refuse the attack.
func (r *tableRow) refusedBy(ws []world) string {
	if ws == nil {
		ws = append(slices.Clone(everyWall), wallMediation)
	}
	var all, some []string
	for _, w := range ws {
		refused, tried := 0, 0
		for _, f := range r.possible() {
			if o, ok := f.In[w]; ok {
				tried++
				if attacker.Holds(o) {
					refused++
				}
			}
		}
		switch {
		case tried > 0 && refused == tried && w != wallMediation:
			all = append(all, string(w))
		case tried > 0 && refused == tried && len(all) == 0:
			all = append(all, string(w))
		case refused > 0 && (w != wallMediation || len(all) == 0):
			some = append(some, string(w))
		}
	}
	out := strings.Join(all, ", ")
	if some != nil {
		out = strings.TrimPrefix(out+", ("+strings.Join(some, ", ")+")", ", ")
	}
	switch {
	case out != "":
	case len(ws) == 0:
		out = "limits"
	default:
		out = "none alone"
	}
	return out
}
