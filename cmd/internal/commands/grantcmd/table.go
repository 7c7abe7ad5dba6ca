package grantcmd

import (
	"strings"

	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/show"
)

// writeOut prints what the user is to write into the table of a server. can says what comes of it.
func (e *Edit) writeOut(c terminal.Console, how How, can []string) error {
	more, gone := e.File.Server.Since(e.before.Server)
	text := "mcp-jail does not change a table that you wrote. Write this into [servers." + show.Key(e.Key) + "], at " + e.Short(e.before.Server.Where)
	for i, place := range gone {
		text += map[bool]string{true: ", in place of what is at ", false: " and "}[i == 0] + e.Short(place)
	}
	c.Printf("\n%s\n\n", terminal.Hang("", "", strings.Join(append(can, text+":"), " "), c.TextColumns()))
	for line := range strings.SplitSeq(more.Rules(e.Key), "\n") {
		c.PrintText(strings.TrimRight("  "+line, " ") + "\n")
	}
	if how.DryRun {
		return nil
	}
	return terminal.ReportedStatus(terminal.Failure)
}
