package policy

import "fmt"

// Lower is what the configuration below a project's file says of a process of a server that the
// project's file has a table for. What it refuses, no rule of the project's file gives
// (docs/reference.md "Layers").
type Lower struct {
	Workspace string   // as written there, to which its relative paths belong; "" is the working directory
	Fs        []FsRule // the most specific one decides, as in a policy
	Sensitive []SensitivePath
	// Own reports that the project's file changes the program, so Fs has rules without rights only.
	Own     bool
	Hosts   []string  // the places of the rules that refuse hosts
	Refused []Warning // of what the project's file asks for and does not get
}

// A SensitivePath is an entry of sensitive_paths with its place.
type SensitivePath struct{ Path, Where string }

// Has reports whether a rule for files is one of those below.
func (l *Lower) Has(r FsRule) bool {
	for _, own := range l.Fs {
		if own.Where == r.Where && own.Path == r.Path && own.Rights() == r.Rights() && own.Deny == r.Deny {
			return true
		}
	}
	return false
}

// RefusedBelow returns the warning about something in a project's file that has no effect, because
// a layer below it refuses that. by is the place of the refusal; "" is the built-in policy.
func RefusedBelow(what, where, refusal, by string) Warning {
	if by == "" {
		return Warning{Code: "refused-below", Message: fmt.Sprintf("%s does not count: a project's file cannot weaken %s", what, refusal), Where: where}
	}
	file, _ := SplitPosition(by)
	return Warning{Code: "refused-below", Message: fmt.Sprintf("%s does not count: your own configuration refuses it (%s: %s), and only %s can allow it", what, by, refusal, file), Where: where}
}
