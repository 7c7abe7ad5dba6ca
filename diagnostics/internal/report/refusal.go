package report

import (
	"cmp"
	"path"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
)

// Key returns a text that two diagnoses share if they are alike: the same thing was refused on the same
// occasion. Counts of denials, which are part of the sentences, do not enter it.
func (d Diagnosis) Key() string {
	parts := []string{d.Server, d.Tool, d.What, string(d.Attribution)}
	for _, h := range d.Hints {
		parts = append(parts, string(h.Axis), h.Target, h.Missing)
	}
	if len(d.Hints) == 0 {
		parts = append(parts, d.Cause)
	}
	if d.Cause == "" {
		for _, r := range d.Denials {
			parts = append(parts, string(r.Axis), r.Operation, r.Target, strings.Join(r.Arguments, "\x01"))
		}
	}
	return strings.Join(parts, "\x00")
}

// Refused reports whether the diagnosis is about something that the policy refuses, and which a
// line of the policy or another remedy would change: the jail recorded it, or the server named it.
func (d Diagnosis) Refused() bool {
	return d.Cause != "" && (d.Attribution == Certain || d.Attribution == Likely) && len(d.Hints) > 0
}

// LogText returns the diagnosis for a log message to the client: the sentence, and then the lines of
// the policy.
func (d Diagnosis) LogText() string {
	return show.Cut(d.Sentence()+d.linesText(), maxHint)
}

func (d Diagnosis) linesText() string {
	grant, ok := d.grantLast(d.File)
	switch {
	case ok:
		return "\nTo grant it: " + grant
	case len(d.Grant) > 0:
		return "\nLines to add" + intoFile(cmp.Or(d.File, theConfiguration)) + ":\n" + strings.Join(d.Grant, "\n")
	case len(d.Flags) > 0:
		return "\nFlags for mcp-jail run: " + strings.Join(d.Flags, " ")
	}
	return ""
}

// grantLast returns the command that grants what a server lacks whose file is one of its own.
func (d Diagnosis) grantLast(file string) (command string, ok bool) {
	if len(d.Grant) == 0 || !IsOwnFile(file) {
		return "", false
	}
	command, ok = show.TypedOK("mcp-jail grant", d.Server)
	return command + " --last", ok
}

// IsOwnFile reports whether a file is that of one server, which mcp-jail grant writes.
func IsOwnFile(file string) bool { return path.Base(path.Dir(file)) == "servers" }

// SilentRefusal is What of a refusal that no call failed from.
func SilentRefusal(server string) string { return SomethingRefused("", OfServer(server)) }
