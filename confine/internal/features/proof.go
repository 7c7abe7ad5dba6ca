package features

import (
	"strconv"

	"github.com/mcp-jail/mcp-jail/policy"
)

// Proof is what the self-test of a Mac found out about Seatbelt. The zero value is none: nothing may be
// started.
type Proof struct {
	Made    bool          `json:"made"`              // the self-test ran to its end
	Failed  []ProbeResult `json:"failed,omitempty"`  // each makes its axis a gap
	Passed  []ProbeResult `json:"passed,omitempty"`  // all others
	Without []string      `json:"without,omitempty"` // optional operations that this system does not know
	Why     string        `json:"why,omitempty"`     // not Made: why there is no result
	Volume  uint64        `json:"-"`                 // the device of the cache directory, where it was made; 0: not known
}

// ProbeResult is a part of the self-test.
type ProbeResult struct {
	ID    string      `json:"id"`
	Axis  policy.Axis `json:"axis"`
	Fatal bool        `json:"fatal,omitempty"` // if it fails, nothing can be started
	What  string      `json:"what"`            // what it shows
	Got   string      `json:"got,omitempty"`   // what happened in place of that, if it failed
}

// Feature returns what the self-test says about this machine, as one feature.
func (p Proof) Feature() Feature {
	const fix = "run mcp-jail doctor, which makes the self-test"
	switch n := len(p.Failed); {
	case !p.Made && p.Why != "":
		return Undetermined("no result: " + p.Why)
	case !p.Made:
		return Undetermined("it has not run for this build of the system and this mcp-jail: " + fix)
	case n > 0:
		return Unavailable(strconv.Itoa(n)+" probes failed, the first of them "+p.Failed[0].ID+": "+p.Failed[0].What, "report this with the output of mcp-jail doctor")
	}
	return Available("passed")
}
