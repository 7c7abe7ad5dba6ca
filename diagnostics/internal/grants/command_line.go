package grants

import (
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// NewCommandLine returns the command line with which a client must start a server given on the
// command line, so that the server gets grants. It is the present one with further flags before the
// command. If no flag exists for a grant, it names the server, and declare holds the lines that
// declare the server. Both are nil if the present command line is not known.
func (w Writer) NewCommandLine(grants []Grant) (line, declare []string) {
	words := w.CommandLine
	at := slices.Index(words, "--")
	if !w.ByFlags || at < 2 || len(grants) == 0 {
		return nil, nil
	}
	if flags, ok := w.FlagWords(grants); ok {
		before := words[:at]
		if i := slices.Index(before, "--workspace"); i > 0 && i+1 < at && slices.Contains(flags, "--workspace") {
			before = slices.Delete(slices.Clone(before), i, i+2) // the new flag replaces it
		}
		line = slices.Concat(before, flags, words[at:])
		return w.Redactor.Lines(line), nil
	}
	if w.Declare == nil {
		return nil, nil
	}
	line = slices.Concat(words[:2], logFlags(words[2:at]), []string{w.Server})
	return w.Redactor.Lines(line), w.Redactor.Lines(w.Declare())
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

// commandBlock returns the table of a program. A file cannot have a table twice, so the new table
// also has the arguments and variables of the present one. If the program has several tables,
// one more is added to them.
func (w Writer) commandBlock(table string, n Grant) block {
	b := block{table: "[" + table + "]"}
	if n.Args == "" {
		return b
	}
	var rules []policy.CommandRule
	for _, c := range w.Profile.Commands {
		if c.Name == n.Program {
			r := policy.CommandRule{Args: c.Args, Where: c.Where}
			if c.OnlyEnvs {
				r.Envs = append([]string{}, c.Envs...)
			}
			rules = append(rules, r)
		}
	}
	args := "args = [" + n.Args + "]"
	switch {
	case len(rules) == 0:
		b.fields = []string{args}
		return b
	case len(rules) > 1:
		return block{table: "[" + b.table + "]", fields: []string{args}}
	}
	b.replaced = show.Line(rules[0].Where)
	fields := rules[0].TOMLFields()
	// The new lists follow those that the table has.
	if i := slices.IndexFunc(fields, func(f string) bool { return strings.HasPrefix(f, "args = ") }); i >= 0 {
		fields[i] = strings.TrimSuffix(fields[i], "]") + ", " + n.Args + "]"
		b.fields = fields
	} else {
		b.fields = append([]string{args}, fields...)
	}
	return b
}
