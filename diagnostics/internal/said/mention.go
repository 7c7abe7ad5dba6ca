package said

import "strings"

// troubleWords are words, in lower case, of lines that tell of a failure without naming its kind.
var troubleWords = []string{
	"error", "fail", "fatal", "exception", "missing", "expected", "not installed", "isn't installed", "cannot", "can't", "could not", "couldn't", "unable",
	"invalid", "required", "please", "not set", "no such", "not available", "unavailable", "not configured", "not authenticated", "not logged in", "not signed in",
}

// Mentions returns the paths in the first lines that no word connects to a fault. The Fault of a
// reference is Absent if the line, or the one before or after it, tells of a failure, else NoFault.
func Mentions(lines []string, escaped Escapes) (refs []Reference) {
	for i, line := range lines {
		own, _ := MatchFault(line)
		if IsStackFrame(line) || RefusedElsewhere(line) || own == Network || len(gitReferences(line, own))+len(pathReferences(line, own)) > 0 {
			continue // these are known for what they are
		}
		fault := NoFault
		for _, near := range lines[max(0, i-1):min(len(lines), i+2)] {
			if f, _ := MatchFault(near); f != NoFault || ContainsAny(strings.ToLower(near), troubleWords) {
				fault = Absent
			}
		}
		for _, ref := range escaped.whole(line, VaguePaths(line, fault)) {
			ref.Line = i
			refs = append(refs, ref)
		}
		if len(refs) >= maxReferences {
			break
		}
	}
	return refs
}
