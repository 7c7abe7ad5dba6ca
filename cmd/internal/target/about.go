package target

import (
	"github.com/mcp-jail/mcp-jail/cmd/internal/records"
	"github.com/mcp-jail/mcp-jail/diagnostics"
)

// About returns what runs as the server of a target, for mcp-jail list.
func (t *Target) About() (a records.About) {
	var redact *diagnostics.Redactor
	if t.Profile != nil {
		redact = diagnostics.NewRedactor(t.Profile.Env)
	}
	given := t.given
	if given == nil && t.Policy != nil {
		given = append([]string{t.Policy.Command}, t.Policy.Arguments...)
	}
	for _, word := range given {
		a.Command = append(a.Command, redact.Redact(word))
	}
	if t.pkg != nil && t.pkg.program != nil {
		e := t.pkg.program.Entry
		a.Package = &records.Package{Ecosystem: string(e.Ecosystem), Spec: e.Spec, Name: e.Name, Version: e.Version}
	}
	return a
}
