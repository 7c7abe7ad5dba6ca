package diagnostics

import (
	"slices"
	"strings"
)

// commandLine returns the command line that the client of a server given on the command
// line needs for grants: its own with further flags before the command, or, where no flag
// exists for a grant, one that names the server that declare declares. Both are nil where
// the client's command line is not known.
func (w grantWriter) commandLine(grants []grant) (line, declare []string) {
	words, redact := w.ev.CommandLine, w.ev.redactor()
	at := slices.Index(words, "--")
	if !w.ev.FromCommandLine || at < 2 || len(grants) == 0 {
		return nil, nil
	}
	if flags, ok := w.flagWords(grants); ok {
		before := words[:at]
		if i := slices.Index(before, "--workspace"); i > 0 && i+1 < at && slices.Contains(flags, "--workspace") {
			before = slices.Delete(slices.Clone(before), i, i+2) // the new flag replaces it
		}
		line = slices.Concat(before, flags, words[at:])
		return redactLines(line, redact), nil
	}
	if w.ev.Declare == nil {
		return nil, nil
	}
	line = slices.Concat(words[:2], logFlags(words[2:at]), []string{w.server})
	return redactLines(line, redact), redactLines(w.ev.Declare(), redact)
}

// logFlags returns the flags about mcp-jail's own logs, which no configuration holds.
func logFlags(flags []string) (own []string) {
	for i := 0; i < len(flags); i++ {
		name, _, joined := strings.Cut(flags[i], "=")
		word := flags[i : i+1]
		if !joined && i+1 < len(flags) {
			word = flags[i : i+2]
			i++
		}
		if strings.HasPrefix(name, "--log-") {
			own = append(own, word...)
		}
	}
	return own
}

// combinedLine returns one command line for the client with the flags of all diagnoses. It
// returns nil where there is only one command line, or where they cannot be combined.
func (r Record) combinedLine() []string {
	var first, flags, command []string
	several := false
	for _, d := range r.Diagnoses {
		if len(d.Line) == 0 || len(d.Declare) > 0 {
			continue
		}
		at := slices.Index(d.Line, "--")
		if at < 2 || command != nil && !slices.Equal(command, d.Line[at:]) {
			return nil
		}
		if first == nil {
			first, flags, command = d.Line, slices.Clone(d.Line[:at]), d.Line[at:]
			continue
		}
		several = several || !slices.Equal(first, d.Line)
		if flags = addFlags(flags, d.Line[2:at]); flags == nil {
			return nil
		}
	}
	if !several {
		return nil
	}
	return slices.Concat(flags, command)
}

// addFlags adds the missing flags. It returns nil where a flag that may occur once has two
// values.
func addFlags(flags, more []string) []string {
	for len(more) > 0 {
		n := 1
		if len(more) > 1 && !strings.Contains(more[0], "=") {
			n = 2
		}
		word := more[:n]
		more = more[n:]
		switch i := slices.Index(flags, word[0]); {
		case i >= 0 && word[0] == "--workspace" && !slices.Equal(flags[i:min(i+n, len(flags))], word):
			return nil
		case !containsRun(flags, word):
			flags = append(flags, word...)
		}
	}
	return flags
}

// containsRun reports whether words stand in all one after the other.
func containsRun(all, words []string) bool {
	for i := range all {
		if i+len(words) <= len(all) && slices.Equal(all[i:i+len(words)], words) {
			return true
		}
	}
	return false
}
