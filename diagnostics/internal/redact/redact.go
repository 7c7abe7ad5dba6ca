package redact

import (
	"slices"
	"sync"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/leak"
)

// minSecret is the length of the shortest value that is redacted. Shorter values ("true",
// "8080", "debug") occur in many lines, and a secret of five bytes protects nothing.
const minSecret = 6

// Redactor replaces the values of secret variables by "[redacted NAME]". A nil Redactor
// changes nothing. It is safe for concurrent use.
//
// A Redactor finds a value in the forms of package leak, and the parts of a value that are secret
// alone: see leak.Parts. Values under 6 bytes are not redacted, nor values that are clearly not
// secret: see leak.IsPlainValue. Redaction keeps accidents out of logs and does not stop a server
// that wants to disclose a value.
type Redactor struct {
	searcher func() *leak.Searcher // nil in the zero Redactor, which must not pass a text on as redacted: it panics
}

// NewRedactor returns a Redactor of the variables of env that are marked Secret.
func NewRedactor(env []policy.Variable) *Redactor {
	var secrets []leak.Secret
	for _, v := range env {
		if !v.Secret || leak.IsPlainHost(v.Name, v.Value) || leak.IsPlainValue(v.Value) {
			continue
		}
		for _, part := range leak.Parts(v.Value) {
			if len(part) >= minSecret {
				secrets = append(secrets, leak.Secret{Name: v.Name, Value: part})
			}
		}
	}
	// The first text makes the searcher, so that no start waits for it.
	return &Redactor{sync.OnceValue(func() *leak.Searcher { return leak.New(secrets, false) })}
}

// Redact returns s without the secret values.
func (r *Redactor) Redact(s string) string {
	if r == nil {
		return s
	}
	return r.searcher().Replace(s, func(name string, _ int) string { return redacted(name) })
}

func redacted(name string) string { return "[redacted " + name + "]" }

// unfinished is Redact for a text that may go on. If its end is the beginning of a secret, and long
// enough to reveal something, that is replaced as well.
func (r *Redactor) unfinished(s string) string {
	s = r.Redact(s)
	if r == nil {
		return s
	}
	if name, n := r.searcher().Begun(s); n >= minSecret {
		return s[:len(s)-n] + redacted(name)
	}
	return s
}

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
