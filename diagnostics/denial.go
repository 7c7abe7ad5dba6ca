package diagnostics

import (
	"time"

	"github.com/mcp-jail/mcp-jail/policy"
)

// Denial is a refusal that the jail itself recorded: a fact, not a guess. The
// fields and their JSON are those of confine.Denial, and Tool.
type Denial struct {
	Axis      policy.Axis `json:"axis"`
	Operation string      `json:"operation"` // "open for writing", "exec", "connect", "memory", …
	Target    string      `json:"target"`
	PID       int         `json:"pid,omitempty"`
	Program   string      `json:"program,omitempty"`
	Count     int         `json:"count"`
	Time      time.Time   `json:"time"`
	Tool      string      `json:"tool,omitempty"` // whose process was refused it, where each call has its own
}
