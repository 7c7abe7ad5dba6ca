package winproof

import (
	"fmt"

	"github.com/mcp-jail/mcp-jail/confine/internal/features"
	"github.com/mcp-jail/mcp-jail/confine/internal/selftest"
	"github.com/mcp-jail/mcp-jail/confine/internal/winjail"
	"github.com/mcp-jail/mcp-jail/policy"
)

// A Probe is one attempt, with the outcome that it must have inside a jail.
type Probe struct {
	ID    string
	Axis  policy.Axis
	Fatal bool
	What  string // that does not hold if the probe fails
	Do    string
	Want  string
	// Control is the outcome outside of a jail; "" for a probe without control.
	Control string
	In      winjail.Input
}

// What attempts do, and their outcomes.
const (
	doNothing     = "start"        // nothing: that the process runs is the outcome
	doOutlive     = "outlive"      // start a process that goes on
	doStart       = "start two"    // start another process
	doCommit      = "commit"       // commitMB of memory
	doNested      = "nest"         // doOutlive, from a job of its own that lets processes go
	doPrivileges  = "privileges"   // those of the token, its administrators and its integrity level
	doMitigations = "mitigations"  // of the process
	doHandle      = "use a handle" // of the launcher, which any process could inherit
	doEcho        = "echo"         // of doOutlive's process

	works   = "works"
	refused = "refused"
	none    = "none"
	ended   = "ended"
	goesOn  = "goes on"
)

const commitMB, limitMB = 512, 256

// Table returns all probes. The first is about a start itself.
func Table() []Probe {
	return []Probe{
		{ID: "W1", Axis: policy.AxisProcess, Fatal: true, What: "a program starts in a job with a restricted token", Do: doNothing, Want: works},
		{ID: "W2", Axis: policy.AxisProcess, What: "every process ends with the session", Do: doOutlive, Want: ended, Control: goesOn},
		{ID: "W3", Axis: policy.AxisProcess, What: "the server has no privileges, and nothing that only administrators may do", Do: doPrivileges, Want: none},
		{ID: "W4", Axis: policy.AxisProcess, What: "the server inherits no handle but its three files", Do: doHandle, Want: refused, Control: works},
		{ID: "W5", Axis: policy.AxisLimits, What: "the number of processes is limited", Do: doStart, Want: refused, Control: works, In: winjail.Input{Processes: 1}},
		{ID: "W6", Axis: policy.AxisLimits, What: "the memory is limited", Do: doCommit, Want: refused, Control: works, In: winjail.Input{MemoryMB: limitMB}},
		{ID: "W7", Axis: policy.AxisLimits, What: "a server that may have one process starts no other", Do: doStart, Want: refused, Control: works, In: winjail.Input{NoChildren: true}},
		{ID: "W8", Axis: policy.AxisProcess, What: "a job of the server's own lets no process leave the session", Do: doNested, Want: ended, Control: goesOn},
		{ID: "W9", Axis: policy.AxisProcess, What: "the server loads no extensions, and no program or library from another machine", Do: doMitigations, Want: none},
	}
}

// judge returns the row of a probe for its outcomes inside and outside of a jail.
func (p Probe) judge(got, control string) selftest.Row {
	row := selftest.Row{ID: p.ID, Axis: p.Axis, Fatal: p.Fatal, What: p.What, Try: p.Do, Want: p.Want, Got: got, Control: control, Verdict: selftest.Failed}
	switch {
	case control != p.Control:
		row.Verdict = selftest.NoEvidence
	case got == p.Want:
		row.Verdict = selftest.Passed
	}
	return row
}

// result returns what rows, one for each probe, come to. without are the steps of winjail that Windows
// refused, and that are left out.
func result(rows []selftest.Row, without []string) (selftest.Result, error) {
	if len(rows) != len(Table()) {
		return selftest.Result{}, fmt.Errorf("%d probes of %d were made", len(rows), len(Table()))
	}
	proof := features.Proof{Made: true, Without: without}
	for _, r := range rows {
		if r.Verdict != selftest.Passed {
			proof.Failed = append(proof.Failed, features.FailedProbe{ID: r.ID, Axis: r.Axis, Fatal: r.Fatal, What: r.What, Got: r.Happened()})
		}
	}
	return selftest.Result{Proof: proof, Rows: rows}, nil
}
