package doctorcmd

import (
	"strings"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/show"
)

// print prints what is installed, and what the clients start.
func (i *installation) print(c terminal.Console) {
	var lines []string
	for _, p := range i.copies {
		line := "mcp-jail " + p.String() + "  " + i.short(p.Path)
		for _, name := range p.Named {
			line += ", " + i.short(name)
		}
		if remark := p.remark(); remark != "" && len(i.copies) > 1 {
			line += "  (" + remark + ")"
		}
		lines = append(lines, line)
	}
	for _, t := range i.tools {
		if t.Path == "" {
			continue
		}
		line := strings.TrimRight(t.Name+" "+t.Version, " ") + "  " + i.short(t.Path)
		if t.Of != "" {
			line += "  (" + t.Of + ")"
		}
		lines = append(lines, line)
	}
	if len(lines) > 0 {
		c.Printf("\ninstalled:\n")
	}
	for _, line := range lines {
		c.PrintText("  " + show.Line(line) + "\n")
	}
	if len(i.starts) == 0 {
		return
	}
	c.Printf("\nclients start:\n")
	rows := [][]cli.Cell{cli.Heading("  CLIENT", "SERVER", "STARTS", "RUNS", "JAIL")}
	for _, s := range i.starts {
		rows = append(rows, []cli.Cell{{Text: "  " + show.Line(s.title)}, cli.Words(s.Server), cli.Words(i.short(s.Starts)), cli.Words(i.short(s.Runs)), cli.Words(s.Jail)})
	}
	c.Printf("%s", cli.Columns(rows, c.TableColumns(), map[int]int{0: cli.OtherWidth, 1: cli.NameWidth, 2: cli.NameWidth, 3: cli.NameWidth}, []int{3, 2, 1, 0}))
}

// remark says what a copy is to this command, to a shell and to clients.
func (p *program) remark() string {
	var parts []string
	if p.This {
		parts = append(parts, "this one")
	}
	if p.first {
		parts = append(parts, "first in PATH")
	}
	if len(p.Clients) > 0 {
		parts = append(parts, "started by "+some(p.Clients))
	}
	return strings.Join(parts, ", ")
}
