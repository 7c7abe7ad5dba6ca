package redact

import (
	"slices"

	"github.com/mcp-jail/mcp-jail/policy"
)

// Lines returns lines without secret values.
func (r *Redactor) Lines(lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = r.Redact(l)
	}
	return out
}

// RedactDenials returns denials without secret values. A server can put them into the
// names that it uses.
func (r *Redactor) RedactDenials(denials []policy.Denial) []policy.Denial {
	out := make([]policy.Denial, len(denials))
	for i, d := range denials {
		d.Target, d.Program, d.Detail = r.Redact(d.Target), r.Redact(d.Program), r.Redact(d.Detail)
		d.Arguments = slices.Clone(d.Arguments)
		for k, arg := range d.Arguments {
			d.Arguments[k] = r.Redact(arg)
		}
		out[i] = d
	}
	return out
}
