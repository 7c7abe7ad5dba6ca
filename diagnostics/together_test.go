package diagnostics

import (
	"slices"
	"strings"
	"testing"
)

// TestTogether: of several failures, why has one line that grants what each asks for.
func TestTogether(t *testing.T) {
	line := func(s string) Diagnosis { return Diagnosis{Line: strings.Fields(s)} }
	for _, tt := range []struct {
		lines []string
		want  string
	}{
		{[]string{"j run --write . --read a -- x y"}, ""},
		{[]string{"j run --write . --read a -- x y", "j run --write . --read a -- x y"}, ""},
		{[]string{"j run --write . --read a -- x y", "j run --write . --net h -- x y", "j run --env=A --write a -- x y"}, "j run --write . --read a --net h --env=A --write a -- x y"},
		{[]string{"j run --workspace a -- x", "j run --workspace b -- x"}, ""},
		{[]string{"j run --read a -- x", "j run --read b -- y"}, ""},
	} {
		var r Record
		for _, l := range tt.lines {
			r.Diagnoses = append(r.Diagnoses, line(l))
		}
		if got := r.combinedLine(); !slices.Equal(got, strings.Fields(tt.want)) {
			t.Errorf("%q: %q", tt.lines, got)
		}
		if said := strings.Contains(r.Text(), "To grant all of this at once:"); said != (tt.want != "") {
			t.Errorf("%q: %s", tt.lines, r.Text())
		}
	}
}
