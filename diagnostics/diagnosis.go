package diagnostics

// Diagnosis is what is said about one failure: in an error frame, in a tool
// result, on stderr and in the session record. Every string in it is valid
// UTF-8, holds no secret of the profile and is safe to print.
type Diagnosis struct {
	Code        Code        `json:"code"`
	Stage       Stage       `json:"stage"`
	Attribution Attribution `json:"attribution"`
	Server      string      `json:"server"`
	Tool        string      `json:"tool,omitempty"`
	Exit        *int        `json:"exit,omitempty"`   // exit status, when no signal ended it
	Signal      string      `json:"signal,omitempty"` // "SIGKILL"

	What  string `json:"what"`            // what happened, one line
	Cause string `json:"cause,omitempty"` // why, one line; "" when nothing is known
	Fix   string `json:"fix,omitempty"`   // what to do, one line; "" when nothing helps

	Detail  []string `json:"detail,omitempty"`      // more lines of mcp-jail's own: of an error, of the gaps
	Said    []string `json:"said,omitempty"`        // what the failing request said, quoted
	Stderr  []string `json:"stderr_tail,omitempty"` // the last lines of the server's stderr
	Denials []Denial `json:"denials,omitempty"`     // facts of the jail, oldest first
	Hints   []Hint   `json:"hints,omitempty"`       // closest to the failure first
	Grant   []string `json:"grant,omitempty"`       // TOML lines that grant all that Hints miss
	Flags   []string `json:"flags,omitempty"`       // the same as flags, for a server given in place

	// Of a server given in place: the words of the client's new line, and, where flags
	// cannot say it, the lines that declare the server, which Grant goes below. They hold
	// the server's arguments, so they are for the record only.
	Line    []string `json:"line,omitempty"`
	Declare []string `json:"declare,omitempty"`
}

// Silent reports whether there is nothing to say: no cause is known, and the jail has
// refused nothing. What the server has answered then passes as it is.
func (d Diagnosis) Silent() bool {
	return d.Attribution == None && d.Cause == "" && len(d.Denials) == 0
}
