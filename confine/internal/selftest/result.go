package selftest

import (
	"fmt"
	"strings"

	"github.com/mcp-jail/mcp-jail/confine/internal/features"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Result is what a self-test found out.
type Result struct {
	Proof features.Proof `json:"proof"`
	Rows  []Row          `json:"probes"` // all of them, in the order of the table
}

// Row is a probe and what came of it.
type Row struct {
	ID      string      `json:"id"` // of the test, and a letter for the probe
	Axis    policy.Axis `json:"axis,omitempty"`
	Fatal   bool        `json:"fatal,omitempty"`
	Info    bool        `json:"info,omitempty"` // a failure has no consequence
	What    string      `json:"what"`
	Try     string      `json:"try"`
	Want    string      `json:"want"`
	Got     string      `json:"got,omitempty"`
	Control string      `json:"control,omitempty"` // outcome outside of the jail
	Fix     string      `json:"fix,omitempty"`     // what the user can do, if that is known
	Verdict Verdict     `json:"verdict"`
}

// A Verdict says whether a probe passed.
type Verdict string

// The verdicts.
const (
	Passed     Verdict = "passed"
	Failed     Verdict = "failed"
	NoEvidence Verdict = "no evidence" // the control failed: it counts as failed
	NotHere    Verdict = "not here"    // the machine has not what the probe is about
)

// Bad reports whether the row has a consequence.
func (r Row) Bad() bool { return (r.Verdict == Failed || r.Verdict == NoEvidence) && !r.Info }

// Happened says what happened in place of what was wanted.
func (r Row) Happened() string {
	if r.Verdict == NoEvidence {
		return fmt.Sprintf("%s: outside of the jail: %s", r.Try, r.Control)
	}
	if r.Fix != "" { // Got is a sentence
		return r.Got
	}
	if r.Want == "none" { // Got names what there is
		return fmt.Sprintf("%s: %s", r.Try, r.Got)
	}
	return fmt.Sprintf("%s: %s, not %s", r.Try, r.Got, r.Want)
}

func or(s, instead string) string {
	if s == "" {
		return instead
	}
	return s
}

// Evidence is the row of test E1: whether the log of the system has a line about what the self-test was
// refused. It belongs to no result that is kept, since who may ask is a matter of the user.
func Evidence(found bool) Row {
	row := Row{ID: "E1", Info: true, What: "the log of the system has a line for what a jail refuses", Try: "ask the log", Want: works, Got: works, Control: works, Verdict: Passed}
	if !found {
		row.Got, row.Verdict = "no line with the tag of the self-test", Failed
	}
	return row
}

func (p Probe) judge(control, got string) Verdict {
	switch {
	case control != p.Control:
		return NoEvidence
	case got == p.Want, p.Want == Refused && got != works && !strings.HasPrefix(got, noAnswer):
		return Passed
	}
	return Failed
}

// noAnswer begins the outcome of an attempt that has none.
const noAnswer = "no answer"

// says is the attempt in words, without the names that differ from machine to machine.
func (p Probe) says() string {
	words := []string{p.Do}
	for _, a := range p.Args {
		words = append(words, strings.TrimPrefix(a, "{t}/"))
	}
	if p.Group != Plain {
		words = append(words, "("+string(p.Group)+")")
	}
	return strings.Join(words, " ")
}

// rows returns the rows of a table, without outcomes, and the probe of each.
func rows(table []Test) (out []Row, probes []Probe) {
	for _, t := range table {
		for i, p := range t.Probes {
			out = append(out, Row{ID: t.ID + string(rune('a'+i)), Axis: t.Axis, Fatal: t.Fatal, Info: t.Info, What: t.What, Try: p.says(), Want: p.Want})
			probes = append(probes, p)
		}
	}
	return out, probes
}

// failed returns one FailedProbe for each test with a bad row.
func failed(all []Row) (out []features.FailedProbe) {
	for _, r := range all {
		if !r.Bad() {
			continue
		}
		id := strings.TrimRight(r.ID, "abcdefghijklmnopqrstuvwxyz")
		if n := len(out); n > 0 && out[n-1].ID == id {
			out[n-1].Got += "; " + r.Happened()
			continue
		}
		out = append(out, features.FailedProbe{ID: id, Axis: r.Axis, Fatal: r.Fatal, What: r.What, Got: r.Happened(), Fix: r.Fix})
	}
	return out
}
