package diagnostics

import (
	"slices"
	"strings"
)

// Complaint is what is to be said of a server that has started and complained on stderr
// of something that its policy does not grant; ok is false where that is nothing. Of the
// evidence only the words count: what the jail refused without a word is usual.
func Complaint(ev Evidence) (d Diagnosis, ok bool) {
	if !slices.ContainsFunc(ev.Stderr, mayNameFault) {
		return d, false
	}
	ev.Started, ev.Denials = true, nil
	d = Diagnose(ev)
	return d, d.Attribution == Likely && len(d.Grant)+len(d.Flags) > 0
}

// mayNameFault tells lines that may name a refusal from all others, without the cost of
// looking for a name.
func mayNameFault(line string) bool {
	if f, _ := matchFault(line); f != faultNone {
		return true
	}
	lower := strings.ToLower(line)
	return slices.ContainsFunc(contextWords, func(w string) bool { return strings.Contains(lower, w) })
}
