package seatbelt_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/seatbelt"
	"github.com/mcp-jail/mcp-jail/confine/internal/seatbelt/seatbelttest"
	"github.com/mcp-jail/mcp-jail/policy"
)

// mutants are faults of the generator: each leaves one filter out of the denies of an operation, or a condition
// out of what they do not match. The comparison with the policy must find each: else it does not look at that.
var mutants = []struct{ op, heads string }{
	{"file-read-data", "subpath, require-all"}, {"process-exec*", "subpath, require-all"},
	{"file-write-data", "subpath, regex, require-all"}, {"file-write-create", "subpath, literal, regex, require-all"},
	{"file-write-unlink", "subpath, literal, regex, require-all"}, {"file-write-mode", "subpath, regex, require-all"},
	{"file-write-create", "not regex, not require-not"},
}

// places returns where in the denies of an operation a filter with a head can be left out: of a list of which one
// filter must match; with "not", of a condition of what is not denied.
func places(e seatbelttest.Expr, head string, excluded bool) (out [][]int) {
	if e.Kind != seatbelttest.List || head == "require-all" && excluded {
		return nil
	}
	want, not := strings.CutPrefix(head, "not ")
	removable := not == excluded && (e.Head() == "deny" || e.Head() == "require-any" || excluded && e.Head() == "require-all") && !(excluded && e.Head() == "require-any")
	for i, x := range e.List {
		if removable && x.Head() == want && len(e.List) > 2 {
			out = append(out, []int{i})
		}
		for _, below := range places(x, head, excluded != (e.Head() == "require-not")) {
			out = append(out, append([]int{i}, below...))
		}
	}
	return out
}

// without returns an expression less the one at a place.
func without(e seatbelttest.Expr, at []int) seatbelttest.Expr {
	e.List = slices.Clone(e.List)
	if len(at) == 1 {
		e.List = slices.Delete(e.List, at[0], at[0]+1)
	} else {
		e.List[at[0]] = without(e.List[at[0]], at[1:])
	}
	return e
}

// TestFaultsAreNoticed makes each mutant of random texts, and asks until an answer is wider than the policy's.
func TestFaultsAreNoticed(t *testing.T) {
	for _, m := range mutants {
		for head := range strings.SplitSeq(m.heads, ", ") {
			g := generator{rand.New(rand.NewPCG(7, 48))}
			tried := 0
			found := noticed(t, g, m.op, &tried, func(exprs []seatbelttest.Expr) bool {
				type place struct {
					rule int
					at   []int
				}
				var all []place
				for i, e := range exprs {
					if e.Head() == "deny" && about(e, m.op) {
						for _, at := range places(e, head, false) {
							all = append(all, place{i, at})
						}
					}
				}
				if all == nil {
					return false
				}
				p := all[g.IntN(len(all))]
				exprs[p.rule] = without(exprs[p.rule], p.at)
				return true
			})
			if found == "" {
				t.Errorf("%s without a %s: not noticed in %d texts", m.op, head, tried)
			} else {
				t.Logf("%s without a %s: noticed in text %d: %s", m.op, head, tried, found)
			}
		}
	}
}

// TestOrderIsNoticed moves the denies of an operation before its allows.
func TestOrderIsNoticed(t *testing.T) {
	for _, q := range questions {
		tried := 0
		found := noticed(t, generator{rand.New(rand.NewPCG(7, 49))}, q.as, &tried, func(exprs []seatbelttest.Expr) bool {
			slices.SortStableFunc(exprs, func(a, b seatbelttest.Expr) int {
				first := func(e seatbelttest.Expr) string {
					if e.Head() == "deny" && about(e, q.as) || e.Head() == "version" || e.String() == "(deny default)" {
						return ""
					}
					return "later"
				}
				return strings.Compare(first(a), first(b))
			})
			return true
		})
		if found == "" {
			t.Errorf("%s: denies before allows: not noticed in %d texts", q.as, tried)
		}
	}
}

func about(e seatbelttest.Expr, op string) bool {
	return slices.ContainsFunc(e.List, func(x seatbelttest.Expr) bool { return x.Text == op })
}

// noticed returns the first answer of a changed text that is wider than the policy's, and not one of the text
// as it was, or "". change reports whether it changed the rules.
func noticed(t *testing.T, g generator, op string, tried *int, change func([]seatbelttest.Expr) bool) string {
	for range 600 {
		p := g.profile()
		text, err := seatbelt.Compile(seatbelt.Input{Profile: p, Self: "/opt/own/mcp-jail"})
		if err != nil {
			t.Fatal(err)
		}
		exprs, err := seatbelttest.Parse(text.Profile)
		if err != nil {
			t.Fatal(err)
		}
		if !change(exprs) {
			continue
		}
		*tried++
		var changed strings.Builder
		for _, e := range exprs {
			changed.WriteString(e.String() + "\n")
		}
		before := compiled(t, p)
		after, err := seatbelttest.Read(changed.String(), text.Params)
		if err != nil {
			t.Fatal(err)
		}
		for range 80 {
			name := g.question(p)
			if !insideFile(p, name) && seatbelttest.Allowed(after, op, name, "") && !seatbelttest.Allowed(before, op, name, "") && wider(p, op, name) {
				return name
			}
		}
	}
	return ""
}

// wider reports whether the policy refuses what a text allows.
func wider(p *policy.Profile, op, name string) bool {
	if op == "file-write-mode" {
		return p.MediateAttributes(name) != policy.Granted
	}
	return !slices.ContainsFunc(questions, func(q struct {
		op policy.Op
		as string
	}) bool {
		return q.as == op && p.Allows(q.op, name) && !((q.op == policy.OpRead || q.op == policy.OpExec) && p.HidesLater(name))
	})
}
