package diagnostics

import (
	"slices"
	"strings"
)

// Complaint returns the diagnosis for a server that has started and reported on stderr
// that it lacks access to something. ok is false where no likely cause with a grant is
// found. Only text counts: denials during a start are common and are ignored.
func Complaint(ev Evidence) (d Diagnosis, ok bool) {
	if !slices.ContainsFunc(ev.Stderr, mayNameFault) {
		return d, false
	}
	ev.Started, ev.Denials = true, nil
	d = Diagnose(ev)
	return d, d.Attribution == Likely && len(d.Grant)+len(d.Flags) > 0
}

// mayNameFault reports whether a line may describe a refusal. It is cheaper than
// extracting names.
func mayNameFault(line string) bool {
	if f, _ := matchFault(line); f != faultNone {
		return true
	}
	lower := strings.ToLower(line)
	return slices.ContainsFunc(contextWords, func(w string) bool { return strings.Contains(lower, w) })
}
