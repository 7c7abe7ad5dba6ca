package jail

import "github.com/mcp-jail/mcp-jail/confine"

// A HostError says that a program did not run, because this host cannot make its jail.
type HostError struct {
	Purpose string // of the jail
	Gaps    *confine.GapError
}

func (e *HostError) Error() string {
	why := e.Gaps.HostNamespaces.Detail
	if why != "" {
		why = "user namespaces are refused: " + why
	} else if len(e.Gaps.Gaps) > 0 {
		why = e.Gaps.Gaps[0].What + ": " + e.Gaps.Gaps[0].Why
	}
	return e.Purpose + " needs a jail, which this host cannot make (" + why + "), and does not run without one: mcp-jail doctor says what to change"
}

func (e *HostError) Unwrap() error { return e.Gaps }
