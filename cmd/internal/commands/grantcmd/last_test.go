package grantcmd

import (
	"fmt"
	"slices"
	"testing"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestLackedIn: what the failures of a session lacked, how certain that is, and what is left out.
func TestLackedIn(t *testing.T) {
	hint := func(by diagnostics.Attribution, warning string, words ...string) diagnostics.Hint {
		return diagnostics.Hint{Attribution: by, Words: words, Warning: warning, Cause: "because"}
	}
	const certain, likely, possible = diagnostics.Certain, diagnostics.Likely, diagnostics.Possible
	for _, c := range []struct {
		name string
		all  []diagnostics.Diagnosis
		want []string
		none []string
	}{
		{"each flag has its own certainty", []diagnostics.Diagnosis{
			{Words: []string{"--read", "~/a", "--net", "b"}, Hints: []diagnostics.Hint{hint(likely, "", "--read", "~/a"), hint(certain, "", "--net", "b")}},
		}, []string{"--read ~/a likely ", "--net b certain "}, nil},
		{"a hint that the failure does not need is left out", []diagnostics.Diagnosis{
			{Words: []string{"--read", "~/a"}, Hints: []diagnostics.Hint{hint(certain, "", "--read", "~/a"), hint(certain, "", "--net", "b")}},
		}, []string{"--read ~/a certain "}, nil},
		{"a flag without a hint is not certain", []diagnostics.Diagnosis{
			{Words: []string{"--write", "~/a"}, Hints: []diagnostics.Hint{hint(certain, "", "--read", "~/a")}},
		}, []string{"--write ~/a possible "}, nil},
		{"twice: the certain one counts, unless it has a warning", []diagnostics.Diagnosis{
			{Words: []string{"--read", "~/a"}, Hints: []diagnostics.Hint{hint(likely, "", "--read", "~/a")}},
			{Words: []string{"--read", "~/a"}, Hints: []diagnostics.Hint{hint(certain, "", "--read", "~/a")}},
			{Words: []string{"--read", "~/s"}, Hints: []diagnostics.Hint{hint(likely, "", "--read", "~/s")}},
			{Words: []string{"--read", "~/s"}, Hints: []diagnostics.Hint{hint(certain, "keys", "--read", "~/s")}},
		}, []string{"--read ~/a certain ", "--read ~/s likely "}, nil},
		{"a certain one stays", []diagnostics.Diagnosis{
			{Words: []string{"--read", "~/a"}, Hints: []diagnostics.Hint{hint(certain, "", "--read", "~/a")}},
			{Words: []string{"--read", "~/a"}, Hints: []diagnostics.Hint{hint(likely, "", "--read", "~/a")}},
		}, []string{"--read ~/a certain "}, nil},
		{"the workspace, where it was lacked", []diagnostics.Diagnosis{
			{Words: []string{"--write", ".", "--read", "~/a"}, Hints: []diagnostics.Hint{hint(certain, "", "--write", "."), hint(certain, "", "--read", "~/a")}},
		}, []string{"--write . certain ", "--read ~/a certain "}, nil},
		{"what no flag grants is named", []diagnostics.Diagnosis{
			{Hints: []diagnostics.Hint{{Attribution: certain, Axis: policy.AxisProcess, Target: "git"}}},
		}, nil, []string{`"git"`}},
		{"a failure without a remedy", []diagnostics.Diagnosis{{What: "it failed"}}, nil, nil},
	} {
		items, none := lackedIn(diagnostics.Record{Diagnoses: c.all})
		var got []string
		for _, l := range items {
			got = append(got, fmt.Sprintf("%s %s %s %s", l.flag.name, l.flag.value, l.by, l.warning))
		}
		if !slices.Equal(got, c.want) || !slices.Equal(none, c.none) {
			t.Errorf("%s: %q %q, want %q %q", c.name, got, none, c.want, c.none)
		}
	}
}
