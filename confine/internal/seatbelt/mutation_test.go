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

// mutants are texts without one kind of exclusion, or of limit, of one operation. The comparison with
// the policy must find each of them wider: else it does not look at that kind.
var mutants = []struct {
	op    string
	heads string // of what is left out, from outside
}{
	{"file-read-data", "require-not subpath"}, {"file-read-data", "require-not regex"},
	{"process-exec*", "require-not subpath"}, {"process-exec*", "require-not regex"},
	{"file-write-data", "require-not subpath"}, {"file-write-data", "require-not regex"}, {"file-write-data", "require-not require-all"}, {"file-write-data", "regex"},
	{"file-write-create", "require-not subpath"}, {"file-write-create", "require-not literal"}, {"file-write-create", "require-not regex"}, {"file-write-create", "require-not require-all"}, {"file-write-create", "regex"},
	{"file-write-unlink", "require-not subpath"}, {"file-write-unlink", "require-not literal"}, {"file-write-unlink", "require-not regex"}, {"file-write-unlink", "require-not require-all"}, {"file-write-unlink", "regex"},
	{"file-write-mode", "require-not subpath"}, {"file-write-mode", "require-not regex"}, {"file-write-mode", "require-not require-all"}, {"file-write-mode", "regex"},
}

// without returns an expression less the parts of lists that have the heads.
func without(e seatbelttest.Expr, heads string) seatbelttest.Expr {
	if e.Kind != seatbelttest.List || e.Head() == "require-not" {
		return e
	}
	list := e.List
	e.List = nil
	for i, x := range list {
		have := x.Head()
		if have == "require-not" {
			have += " " + x.List[1].Head()
		}
		if i == 0 || have != heads {
			e.List = append(e.List, without(x, heads))
		}
	}
	return e
}

func TestMissingExclusionsAreNoticed(t *testing.T) {
	for _, m := range mutants {
		g := generator{rand.New(rand.NewPCG(7, 48))}
		changed := 0
		found := ""
		for n := 0; found == "" && n < 400; n++ {
			p := g.profile()
			text, err := seatbelt.Compile(seatbelt.Input{Profile: p, Self: "/opt/own/mcp-jail"})
			if err != nil {
				t.Fatal(err)
			}
			mutated, same := mutate(t, text.Profile, m.op, m.heads)
			if same {
				continue
			}
			changed++
			rules, err := seatbelttest.Read(mutated, text.Params)
			if err != nil {
				t.Fatal(err)
			}
			for range 80 {
				if name := g.question(p); found == "" && !insideFile(p, name) {
					found = firstWider(p, rules, name)
				}
			}
		}
		if found == "" {
			t.Errorf("%s without %q: not noticed in %d texts", m.op, m.heads, changed)
		} else {
			t.Logf("%s without %q: noticed in text %d: %s", m.op, m.heads, changed, found)
		}
	}
}

func mutate(t *testing.T, text, op, heads string) (mutated string, same bool) {
	exprs, err := seatbelttest.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	same = true
	var b strings.Builder
	for _, e := range exprs {
		if slices.ContainsFunc(e.List, func(x seatbelttest.Expr) bool { return x.Text == op }) {
			before := e.String()
			e = without(e, heads)
			same = same && e.String() == before
		}
		b.WriteString(e.String() + "\n")
	}
	return b.String(), same
}

// firstWider returns a question about a path with an answer that is wider than the policy's, or "".
func firstWider(p *policy.Profile, rules []seatbelttest.Rule, name string) string {
	for _, q := range questions {
		granted := p.Allows(q.op, name)
		switch q.op {
		case policy.OpMkdir:
			continue // asked as a creation
		case policy.OpCreate:
			granted = granted || p.Allows(policy.OpMkdir, name)
		case policy.OpRead, policy.OpExec:
			granted = granted && !p.HidesLater(name)
		}
		if !granted && seatbelttest.Allowed(rules, q.as, name, "") {
			return q.as + " " + name
		}
	}
	if p.MediateAttributes(name) != policy.Granted && seatbelttest.Allowed(rules, "file-write-mode", name, "") {
		return "attributes of " + name
	}
	return ""
}
