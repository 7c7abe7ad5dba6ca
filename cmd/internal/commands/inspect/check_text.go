package inspect

import (
	"fmt"
	"strings"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/show"
)

func (r serverReport) text(c terminal.Console) string {
	var b strings.Builder
	mark := c.Paint(terminal.Green, "ok")
	if !r.OK {
		mark = c.Paint(terminal.Red, "failed")
	}
	fmt.Fprintf(&b, "%s  %s  %s\n", mark, c.Paint(terminal.Bold, show.Name(r.Server)), show.Line(r.Policy))
	line := func(code, what, msg string) {
		fmt.Fprintf(&b, "    %s %s\n", c.Paint(code, what), strings.ReplaceAll(show.Lines(msg), "\n", "\n      "))
	}
	for _, e := range r.Errors {
		line(terminal.Red, "error:", e)
	}
	for _, w := range r.Warnings {
		line(terminal.Yellow, "warning:", w)
	}
	for _, g := range r.Gaps {
		if g.Waived {
			line(terminal.Yellow, "waived:", fmt.Sprintf("%s: %s: %s", g.Axis, g.What, g.Why))
		}
	}
	for _, m := range r.Remarks {
		line(terminal.Dim, "note:", m)
	}
	b.WriteString(secretTable(c, "    ", "", r.Secrets))
	if r.Probed != "" {
		plural := "s:"
		switch len(r.Tools) {
		case 0:
			plural = "s"
		case 1:
			plural = ":"
		}
		fmt.Fprintf(&b, "    %s offers %d tool%s\n", show.Line(r.Probed), len(r.Tools), plural)
	}
	if !r.stateless {
		cli.WriteWrapped(&b, "      ", toolNames(r.Tools), c.TextColumns())
		return b.String()
	}
	if r.Probed == "" && len(r.Tools) > 0 {
		b.WriteString("    tools with a table\n")
	}
	b.WriteString(toolTable("      ", r.Tools))
	for _, t := range r.Tools {
		tool := "tool " + show.Name(t.Name) + ": "
		b.WriteString(secretTable(c, "      ", tool, t.Secrets))
		for _, e := range t.Errors {
			line(terminal.Red, "error:", tool+e)
		}
		for _, w := range t.Warnings {
			line(terminal.Yellow, "warning:", tool+w)
		}
		for _, g := range t.Gaps {
			if g.Waived {
				line(terminal.Yellow, "waived:", fmt.Sprintf("%s%s: %s: %s", tool, g.Axis, g.What, g.Why))
			}
		}
	}
	return b.String()
}

func toolNames(tools []toolReport) []string {
	names := make([]string, len(tools))
	for i, t := range tools {
		names[i] = show.Name(t.Name)
	}
	return names
}
