package diagnostics

import (
	"time"

	"github.com/mcp-jail/mcp-jail/policy"
)

// Denial is a refusal that the jail recorded. It is a fact and not a guess. The fields and
// their JSON are those of confine.Denial, and Tool and Background.
type Denial struct {
	Axis      policy.Axis `json:"axis"`
	Operation string      `json:"operation"` // "open for writing", "exec", "connect", "memory", …
	Target    string      `json:"target"`
	Reason    string      `json:"reason,omitempty"` // a word, of the network: see docs/reference.md
	Detail    string      `json:"detail,omitempty"` // the reason in words
	PID       int         `json:"pid,omitempty"`
	Program   string      `json:"program,omitempty"`
	Count     int         `json:"count"`
	Time      time.Time   `json:"time"`
	Last      time.Time   `json:"last,omitzero"`  // time of the latest, where Time is that of the first
	Tool      string      `json:"tool,omitempty"` // the tool that the process served, where each call has its own process
	// Background means that the server meets this refusal also where nothing fails, for
	// example at every start.
	Background bool `json:"usual,omitempty"`
}

// lookupPhrase names the operation of a Denial that isNamelessLookup.
const lookupPhrase = "to look up the name of a host"

// isNamelessLookup reports whether d is a name lookup whose name the jail did not see.
func (d Denial) isNamelessLookup() bool { return d.Operation == "resolve" && d.Target == "" }

// Latest returns the time of the latest refusal.
func (d Denial) Latest() time.Time {
	if d.Last.IsZero() {
		return d.Time
	}
	return d.Last
}
