package selftest

import (
	"fmt"

	"github.com/mcp-jail/mcp-jail/confine/internal/features"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Result is what a self-test found out.
type Result struct {
	Proof features.Proof `json:"proof"`
	Rows  []Row          `json:"probes"` // all of them, in the order of the table
}

// Row is a probe and what came of it: of the attempt that failed, if one did.
type Row struct {
	ID      string      `json:"id"`
	Axis    policy.Axis `json:"axis,omitempty"`
	Fatal   bool        `json:"fatal,omitempty"`
	What    string      `json:"what"`
	Try     string      `json:"try"`
	Want    string      `json:"want"`
	Got     string      `json:"got,omitempty"`
	Control string      `json:"control,omitempty"` // outcome outside of the jail
	Verdict Verdict     `json:"verdict"`
}

// A Verdict says whether a probe passed.
type Verdict string

// The verdicts.
const (
	Passed     Verdict = "passed"
	Failed     Verdict = "failed"
	NoEvidence Verdict = "no evidence" // the control failed: it counts as failed
)

// Happened says what happened in place of what was wanted.
func (r Row) Happened() string {
	if r.Verdict == NoEvidence {
		return fmt.Sprintf("%s: outside of the jail: %s", r.Try, r.Control)
	}
	return fmt.Sprintf("%s: %s, not %s", r.Try, r.Got, r.Want)
}

// wants are the outcomes that the signs of the table ask for.
var wants = map[string]string{"+": works, "-": "EPERM", "~": "a refusal"}

// works is the outcome of an attempt that nothing refused. Others are the name of an errno, or a text.
const works = "works"

// judge returns the verdict about an attempt by its outcomes. "" is none.
func judge(sign, got, control string) Verdict {
	switch {
	case control != works:
		return NoEvidence
	case got == wants[sign], sign == "~" && got != works && got != "":
		return Passed
	}
	return Failed
}

// result returns the result of attempts that came to outcomes outside of the jails and inside. said is why
// a jail made no attempt.
func result(table []Probe, made []attempt, control, got []string, said map[Jail]string) (r Result) {
	r.Proof.Made = true
	for _, p := range table {
		r.Rows = append(r.Rows, Row{ID: p.ID, Axis: p.Axis, Fatal: p.Fatal, What: p.What, Verdict: Passed})
	}
	for i, a := range made {
		row := &r.Rows[a.Probe]
		if row.Verdict != Passed {
			continue
		}
		row.Try, row.Want, row.Got, row.Control, row.Verdict = a.Do, wants[a.Sign], got[i], control[i], judge(a.Sign, got[i], control[i])
		for _, arg := range a.Args {
			row.Try += " " + arg
		}
		if row.Got == "" {
			row.Got = "no answer"
			if why := said[table[a.Probe].Jail]; why != "" {
				row.Got += ": " + why
			}
		}
	}
	for _, row := range r.Rows {
		if row.Verdict != Passed {
			r.Proof.Failed = append(r.Proof.Failed, features.FailedProbe{ID: row.ID, Axis: row.Axis, Fatal: row.Fatal, What: row.What, Got: row.Happened()})
		}
	}
	return r
}
