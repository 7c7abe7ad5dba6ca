package doctorcmd

import (
	"strings"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/entries"
	"github.com/mcp-jail/mcp-jail/cmd/internal/exit"
)

func (i *installation) checkConfiguration() (all []finding) {
	for _, p := range entries.ConfigurationProblems(i.host, i.files, i.program) {
		f := finding{Check: "configuration", Stops: true, status: exit.Usage, File: p.File, Line: p.Line, What: p.What, Of: p.Entries, role: "read by", Why: strings.ToUpper(p.Effect[:1]) + p.Effect[1:], Fix: p.Fix}
		all = append(all, f)
	}
	return all
}
