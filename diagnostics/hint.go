package diagnostics

import "github.com/mcp-jail/mcp-jail/policy"

// Hint is one access that the policy refuses, with its remedy.
type Hint struct {
	Attribution Attribution `json:"attribution"`
	Axis        policy.Axis `json:"axis"`
	Target      string      `json:"target"`            // path, host, variable or program
	Missing     string      `json:"missing"`           // "read", "write", "execute", "connect", "variable", "program"
	Cause       string      `json:"cause"`             // why this is the cause, one line
	Fix         string      `json:"fix,omitempty"`     // what to do, one line
	Warning     string      `json:"warning,omitempty"` // what granting it would expose
	Grant       []string    `json:"grant,omitempty"`   // TOML lines, complete on their own
	Flags       []string    `json:"flags,omitempty"`   // the same as flags of `mcp-jail run`
}
