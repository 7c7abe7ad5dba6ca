package grants

import (
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// commandBlock returns the table of a program. A file cannot have a table twice, so the new table
// also has the arguments and variables of the present one. Where the program has several tables,
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
	if i := slices.IndexFunc(fields, func(f string) bool { return strings.HasPrefix(f, "args = ") }); i >= 0 {
		fields[i] = strings.TrimSuffix(fields[i], "]") + ", " + n.Args + "]"
		b.fields = fields
	} else {
		b.fields = append([]string{args}, fields...)
	}
	return b
}
