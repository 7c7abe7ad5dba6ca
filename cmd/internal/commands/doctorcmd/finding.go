package doctorcmd

import (
	"os"
	"slices"

	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/show"
)

// A finding is a fault, or a remark.
type finding struct {
	Stops bool   `json:"stops"` // a server or a command does not start because of it
	What  string `json:"what"`
	Why   string `json:"why,omitempty"`
	Fix   string `json:"fix,omitempty"`
	File  string `json:"file,omitempty"`
}

// print prints a finding: what it is, why, and what to do.
func (f finding) print(c terminal.Console) {
	word := c.Paint(terminal.Yellow, "note:")
	if f.Stops {
		word = c.Paint(terminal.Red, "problem:")
	}
	print := func(text string) { c.PrintText(terminal.ShortHome(text, os.Getenv("HOME")) + "\n") }
	print(word + " " + show.Lines(f.What))
	if f.Why != "" {
		print("    " + show.Line(f.Why))
	}
	if f.Fix != "" {
		print("    fix: " + show.Line(f.Fix))
	}
}

func printFindings(c terminal.Console, all []finding) {
	for i, f := range all {
		if i == 0 {
			c.Printf("\n")
		}
		f.print(c)
	}
}

func stops(all []finding) bool {
	return slices.ContainsFunc(all, func(f finding) bool { return f.Stops })
}
