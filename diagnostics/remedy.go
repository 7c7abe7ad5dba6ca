package diagnostics

import (
	"slices"

	"github.com/mcp-jail/mcp-jail/policy"
)

// Remedies returns hints that would grant the hosts that the jail has refused, whether or not
// something failed. Background denials come last. It uses the denials, the profile, and the fields
// that decide how advice is written.
func Remedies(ev Evidence) []Hint {
	if ev.Profile == nil {
		return nil
	}
	ev.Denials = slices.DeleteFunc(slices.Clone(ev.Denials), func(d policy.Denial) bool { return d.Axis != policy.AxisNet })
	a := newCase(&ev)
	var hints []Hint
	for _, f := range ranked(a, analyzeDenials(a, nil), 0) {
		hints = append(hints, hint(a, f.Finding))
	}
	return hints
}
