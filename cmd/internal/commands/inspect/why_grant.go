package inspect

import (
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/index"
	"github.com/mcp-jail/mcp-jail/cmd/internal/records"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/internal/show"
)

// grantLine returns the command that grants what a record lacks, or "" if no flag does, or if the policy is
// in a file that the user changes by hand.
func grantLine(x *index.Index, r diagnostics.Record, s serverRecords) string {
	of := records.ReadAbout(x.Host, s.Server).Configuration
	if s.Project != "" || of == nil || len(of.Files) > 0 || !r.Lacks() {
		return ""
	}
	name := s.name()
	if of, err := x.Pick(s.Server, nil); err == nil {
		name = of.Name
	}
	line, ok := show.TypedOK("mcp-jail grant", name)
	if !ok {
		return ""
	}
	return line + " --last"
}
