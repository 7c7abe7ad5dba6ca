package inspect

import (
	"cmp"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/entries"
	"github.com/mcp-jail/mcp-jail/cmd/internal/records"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// grantLine returns the command that grants what a record lacks, or "" if no flag does, or if the policy is
// in a file that the user changes by hand.
func grantLine(host hostfs.Host, r diagnostics.Record, s serverRecords) string {
	what := "--last"
	of := records.ReadAbout(host, s.Server).Configuration
	switch {
	case s.Project != "" || of == nil || len(of.Files) > 0:
		return ""
	case r.Lacks():
	case r.LacksHost():
		what = "--net HOST"
	default:
		return ""
	}
	line, ok := show.TypedOK("mcp-jail grant", cmp.Or(entries.OwnNames(host)[s.Server], s.name()))
	if !ok {
		return ""
	}
	return line + " " + what
}
