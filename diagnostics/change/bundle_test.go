package change

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestBundle: what helps only together gets the worst verdict of all that is not there already, and nothing else gets it.
func TestBundle(t *testing.T) {
	never := []policy.Reason{{Kind: policy.WhyRaises}}
	proposal := func(besides, has bool, reasons ...policy.Reason) *Proposal {
		w := Want{Source: Recorded, Object: Path("~/notes", policy.Read), Besides: besides}
		p := Judge(w, reasons, nil)
		if has {
			p = Nothing(w)
		}
		return &p
	}
	for name, c := range map[string]struct {
		all  []*Proposal
		want []Verdict
	}{
		"the first is never":             {[]*Proposal{proposal(false, false, never...), proposal(true, false), proposal(true, false)}, []Verdict{Never, Never, Never}},
		"the last is never":              {[]*Proposal{proposal(false, false), proposal(true, false), proposal(true, false, never...)}, []Verdict{Never, Never, Never}},
		"one between is there":           {[]*Proposal{proposal(false, false, never...), proposal(true, true), proposal(true, false)}, []Verdict{Never, Has, Never}},
		"another one":                    {[]*Proposal{proposal(false, false, never...), proposal(false, false), proposal(true, false)}, []Verdict{Never, Fine, Fine}},
		"besides what cannot be granted": {[]*Proposal{proposal(false, false), {}, proposal(true, false, never...)}, []Verdict{Fine, Never, Never}},
	} {
		Bundle(c.all)
		for i, p := range c.all {
			if p.Verdict() != c.want[i] {
				t.Errorf("%s: %d is %v, want %v", name, i, p.Verdict(), c.want[i])
			}
		}
	}
}

// TestDenial: the rule that denies something is told, also where no flag could name it.
func TestDenial(t *testing.T) {
	w := Want{Source: Recorded, Object: Path("~/priv/a$b", policy.Read)}
	denied := policy.Reason{Kind: policy.WhyDenied, Names: []string{"notes.toml:7"}}
	for _, reasons := range [][]policy.Reason{{denied}, append(ReasonsOf(w, true), denied)} {
		if got := Judge(w, reasons, nil).Refused(); !strings.Contains(got, "notes.toml:7") {
			t.Errorf("%v: %q", reasons, got)
		}
	}
}
