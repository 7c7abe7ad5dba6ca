package winproof

import (
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/selftest"
	"github.com/mcp-jail/mcp-jail/confine/internal/winjail"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestJudge: a probe passes only with both outcomes that it must have.
func TestJudge(t *testing.T) {
	p := Probe{ID: "W5", Want: refused, Control: works}
	for _, c := range []struct {
		got, control string
		want         selftest.Verdict
	}{
		{refused, works, selftest.Passed}, {works, works, selftest.Failed}, {"no answer", works, selftest.Failed}, {"", works, selftest.Failed},
		{refused, refused, selftest.NoEvidence}, {refused, "", selftest.NoEvidence}, {works, refused, selftest.NoEvidence},
	} {
		if got := p.judge(c.got, c.control); got.Verdict != c.want || got.ID != p.ID {
			t.Errorf("%q, %q: %+v, want %s", c.got, c.control, got, c.want)
		}
	}
	p.Control = ""
	if row := p.judge(refused, ""); row.Verdict != selftest.Passed {
		t.Errorf("without control: %+v", row)
	}
}

// TestBrokenAttempt: an attempt that does not do what it should has one outcome in a jail and outside of
// it, or one that says nothing. No probe takes either for a success.
func TestBrokenAttempt(t *testing.T) {
	outcomes := []string{"", "no answer", "an unknown attempt", "not started", works, refused, ended, goesOn, none}
	for _, p := range Table() {
		for _, outcome := range outcomes {
			control := ""
			if p.Control != "" {
				control = outcome
			}
			looks := p.Control == "" && outcome == p.Want // at itself: broken, it must say something else
			if row := p.judge(outcome, control); (row.Verdict == selftest.Passed) != looks {
				t.Errorf("%s with %q everywhere: %s", p.ID, outcome, row.Verdict)
			}
		}
	}
}

// TestResult: each probe that has not passed is a failure of the proof, and a probe that was not made
// voids it.
func TestResult(t *testing.T) {
	var rows []selftest.Row
	for _, p := range Table() {
		rows = append(rows, p.judge(p.Want, p.Control))
	}
	r, err := result(rows, []string{"x"})
	if err != nil || !r.Proof.Made || r.Proof.Failed != nil || !r.Proof.Lacks("x") || r.Proof.Lacks("y") || len(r.Rows) != len(rows) {
		t.Errorf("all passed: %+v, %v", r, err)
	}
	for i, p := range Table() {
		bad := append([]selftest.Row(nil), rows...)
		bad[i] = p.judge("something else", p.Control)
		if i%2 == 1 {
			bad[i] = p.judge(p.Want, "something else")
		}
		r, err := result(bad, nil)
		if err != nil || len(r.Proof.Failed) != 1 || r.Proof.Failed[0].ID != p.ID || r.Proof.Failed[0].Axis != p.Axis || r.Proof.Failed[0].Fatal != p.Fatal || r.Proof.Failed[0].Got == "" {
			t.Errorf("%s failed: %+v, %v", p.ID, r.Proof, err)
		}
	}
	if r, err := result(rows[1:], nil); err == nil {
		t.Errorf("a probe was left out: %+v", r)
	}
}

// TestTable: probes have names of their own, an axis that can be waived, and a limit where they are about
// one.
func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range Table() {
		if seen[p.ID] || p.What == "" || p.Want == p.Control {
			t.Errorf("%+v", p)
		}
		if limited := p.In != (winjail.Input{}); limited != (p.Axis == policy.AxisLimits) {
			t.Errorf("%s: %+v", p.ID, p.In)
		}
		seen[p.ID] = true
	}
}
