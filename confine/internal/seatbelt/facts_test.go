package seatbelt_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/seatbelt/seatbelttest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

const head = "(version 1)\n(deny default)\n"

func TestEvaluatorKnowsPublishedFacts(t *testing.T) {
	text := testkit.Get(os.ReadFile("testdata/facts.txt"))(t)
	facts := 0
	for line := range strings.SplitSeq(string(text), "\n") {
		f := strings.Split(line, " :: ")
		if line == "" || line[0] == '#' {
			continue
		}
		testkit.MustEqual(t, fmt.Sprintf("fields: %s", line), len(f), 5)
		facts++
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
	if facts < 40 {
		t.Errorf("%d facts", facts)
	}
}

// TestReadRefusesExpressions: the reader refuses an expression that systems read differently, so no text
// that a test compiles has one.
func TestReadRefusesExpressions(t *testing.T) {
	for refused, control := range map[string]string{
		`^/w/a{2}$`: `^/w/aa$`, `^/w/\.a$`: `^/w/[.]a$`, `/w/a$`: `^/w/a$`, `^/w/a`: `^/w/a$`, `^/w/[[:alpha:]]$`: `^/w/[a-z]$`,
		`^/w/(a$|b)$`: `^/w/(a|b)$`, `^/w/(*a)$`: `^/w/(.*a)$`, `^/w/(a$`: `^/w/(a)$`, `^/w/(?:a)$`: `^/w/(a)?$`,
	} {
		for expression, wanted := range map[string]bool{refused: false, control: true} {
			if _, err := seatbelttest.Read(head+`(deny file-read-data (regex #"`+expression+`"))`, nil); (err == nil) != wanted {
				t.Errorf("%s: %v", expression, err)
			}
		}
	}
}
