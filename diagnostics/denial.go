package diagnostics

import (
	"time"

	"github.com/mcp-jail/mcp-jail/policy"
)

// Denial is a refusal that the jail itself recorded: a fact, not a guess. The
// fields and their JSON are those of confine.Denial, and Tool and Usual.
type Denial struct {
	Axis      policy.Axis `json:"axis"`
	Operation string      `json:"operation"` // "open for writing", "exec", "connect", "memory", …
	Target    string      `json:"target"`
	Reason    string      `json:"reason,omitempty"` // a word, of the network: see docs/reference.md
	Detail    string      `json:"detail,omitempty"` // why, in words
	PID       int         `json:"pid,omitempty"`
	Program   string      `json:"program,omitempty"`
	Count     int         `json:"count"`
	Time      time.Time   `json:"time"`
	Last      time.Time   `json:"last,omitzero"`  // of the latest, where Time is that of the first
	Tool      string      `json:"tool,omitempty"` // whose process was refused it, where each call has its own
	// Usual: the server is refused it also where nothing fails, such as at every start.
	Background bool `json:"usual,omitempty"`
}

// lookupPhrase is what was attempted where Denial.nameless.
const lookupPhrase = "to look up the name of a host"

// isNamelessLookup tells a look-up of which the jail has not seen the name.
func (d Denial) isNamelessLookup() bool { return d.Operation == "resolve" && d.Target == "" }

// Latest is when it was refused the last time.
func (d Denial) Latest() time.Time {
	if d.Last.IsZero() {
		return d.Time
	}
	return d.Last
}
