package seatbelt_test

import (
	"os"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/seatbelt"
	"github.com/mcp-jail/mcp-jail/confine/internal/seatbelt/seatbelttest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

const head = "(version 1)\n(deny default)\n"

var parameters = []string{"P0=/\u00dcbung"}

// lines returns the lines of a file of facts, each with n fields.
func lines(t *testing.T, name string, n int) (out [][]string) {
	b, err := os.ReadFile("testdata/" + name)
	testkit.Must(t, err)
	for _, l := range strings.Split(string(b), "\n") {
		if l == "" || strings.HasPrefix(l, "#") {
			continue
		}
		f := strings.Split(l, " :: ")
		if len(f) != n {
			t.Fatalf("%s: %d fields, not %d: %s", name, len(f), n, l)
		}
		out = append(out, f)
	}
	return out
}

func TestEvaluatorKnowsPublishedFacts(t *testing.T) {
	facts := lines(t, "facts.txt", 5)
	if len(facts) < 40 {
		t.Errorf("%d facts", len(facts))
	}
	for _, f := range facts {
		rules, err := seatbelttest.Read(head+f[2], nil)
		if err != nil {
			t.Errorf("%s: %s: %v", f[0], f[1], err)
			continue
		}
		op, subject, _ := strings.Cut(f[3], " ")
		if got := seatbelttest.Allowed(rules, op, subject, ""); got != (f[4] == "allowed") || f[4] != "allowed" && f[4] != "denied" {
			t.Errorf("%s: %s: the evaluator says %v", f[0], f[1], got)
		}
	}
}

func TestLinterRefusesTraps(t *testing.T) {
	traps := lines(t, "traps.txt", 4)
	for _, f := range traps {
		if err := seatbelttest.Lint(seatbelt.Text{Profile: head + f[2], Params: parameters}); err == nil {
			t.Errorf("%s: %s: not refused", f[0], f[1])
		}
		if err := seatbelttest.Lint(seatbelt.Text{Profile: head + f[3], Params: parameters}); err != nil {
			t.Errorf("%s: %s: the control is refused: %v", f[0], f[1], err)
		}
	}
}

func TestLinterRefusesWhatNoTextHas(t *testing.T) {
	const ok = `(allow file-read-data (subpath "/w"))`
	long := strings.Repeat("/123456789", 95)
	for name, c := range map[string]struct {
		text, control string
		params        []string
	}{
		"no version":                   {strings.TrimPrefix(head, "(version 1)\n") + ok, head + ok, nil},
		"another default":              {"(version 1)\n(allow default)\n" + ok, head + ok, nil},
		"a second default":             {head + "(deny default)\n" + ok, head + ok, nil},
		"a bracket too few":            {head + ok[:len(ok)-1], head + ok, nil},
		"a bracket too many":           {head + ok + ")", head + ok, nil},
		"a string without an end":      {head + `(allow file-read-data (subpath "/w))`, head + ok, nil},
		"an escape in a string":        {head + `(allow file-read-data (subpath "/w\x"))`, head + ok, nil},
		"a literal that is too long":   {head + `(allow file-read-data (literal "` + long + `"))`, head + `(allow file-read-data (literal "` + long[:900] + `"))`, nil},
		"a deny before the allow":      {head + `(deny file-read-data (literal "/w/a"))` + ok, head + ok + `(deny file-read-data (literal "/w/a"))`, nil},
		"a deny of what has no path":   {head + `(allow signal (target self))(deny signal (target self))`, head + ok, nil},
		"a deny of everything":         {head + ok + `(deny file-read-data)`, head + ok, nil},
		"an allow with a condition":    {head + `(allow file-read-data (require-all (subpath "/w") (require-not (literal "/w/a"))))`, head + ok, nil},
		"a count in an expression":     {head + rule(`^/w/a{2}$`), head + rule(`^/w/aa$`), nil},
		"an escape in an expression":   {head + rule(`^/w/\.a$`), head + rule(`^/w/[.]a$`), nil},
		"an expression without start":  {head + rule(`/w/a$`), head + rule(`^/w/a$`), nil},
		"an expression without end":    {head + rule(`^/w/a`), head + rule(`^/w/a$`), nil},
		"a class by name":              {head + rule(`^/w/[[:alpha:]]$`), head + rule(`^/w/[a-z]$`), nil},
		"an anchor inside":             {head + rule(`^/w/(a$|b)$`), head + rule(`^/w/(a|b)$`), nil},
		"a repetition of nothing":      {head + rule(`^/w/(*a)$`), head + rule(`^/w/(.*a)$`), nil},
		"an expression that is open":   {head + rule(`^/w/(a$`), head + rule(`^/w/(a)$`), nil},
		"an expression alone":          {head + `(allow file-read-data (regex #"^/w/a$"))`, head + rule(`^/w/a$`), nil},
		"an exclusion of an exclusion": {head + `(allow file-read-data (require-all (subpath "/w") (require-not (require-not (subpath "/")))))`, head + rule(`^/w/a$`), nil},
		"a parameter that is relative": {head + ok, head + ok, []string{"P0=w"}},
		"a parameter with a line end":  {head + ok, head + ok, []string{"P0=/w\n"}},
		"a parameter for the root":     {head + `(allow file-read-data (subpath (param "P0")))`, head + ok, []string{"P0=/"}},
		"a word for the parser":        {head + `(define x 1)`, head + ok, nil},
		"a quoted list":                {head + `'(allow file-read-data)`, head + ok, nil},
		"a rule without an operation":  {head + `(allow (subpath "/w"))`, head + ok, nil},
		"a path for what has none":     {head + `(allow file-read-data signal (subpath "/w"))`, head + ok, nil},
		"an address for what has none": {head + `(allow network-outbound file-read-data (remote ip "localhost:1"))`, head + `(allow network-outbound (remote ip "localhost:1"))`, nil},
		"an unknown operation":         {head + `(allow file-mount (subpath "/w"))`, head + ok, nil},
	} {
		if err := seatbelttest.Lint(seatbelt.Text{Profile: c.text, Params: c.params}); err == nil {
			t.Errorf("%s: not refused", name)
		}
		if err := seatbelttest.Lint(seatbelt.Text{Profile: c.control}); err != nil {
			t.Errorf("%s: the control is refused: %v", name, err)
		}
	}
}

// rule returns rules of which one has an expression.
func rule(expression string) string {
	return `(allow file-read-data (subpath "/w"))(deny file-read-data (regex #"` + expression + `"))`
}
