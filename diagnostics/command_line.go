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

// writeCommandLine writes the client's new command line, as typed into a shell if that is
// possible, and as the list in a client's file.
func writeCommandLine(b *strings.Builder, line []string) {
	if len(line) == 0 {
		return
	}
	words := make([]string, len(line))
	for i, w := range line {
		words[i] = shellWord(w)
	}
	b.WriteString("  the client's new command line, and its arguments as in a client's file:\n\n")
	if typed := strings.Join(words, " "); sanitize(typed) == typed {
		b.WriteString(typed + "\n")
	}
	b.WriteString(`"args": ` + string(EscapeJSON(encode(line[1:]))) + "\n")
}
