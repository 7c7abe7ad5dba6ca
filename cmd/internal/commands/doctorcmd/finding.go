package doctorcmd

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/cmd/internal/exit"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/show"
)

// A finding is a fault of the installation, or a remark about it.
type finding struct {
	Check string   `json:"check"` // copies, path, directories, programs, clients, configuration or evidence
	Stops bool     `json:"stops"` // a server or a command does not start because of it
	What  string   `json:"what"`
	Of    []string `json:"of,omitempty"` // the entries of clients, or the servers, that it is about
	Why   string   `json:"why,omitempty"`
	Fix   string   `json:"fix,omitempty"`
	File  string   `json:"file,omitempty"`
	Line  int      `json:"line,omitempty"`

	role   string // what Of is to What: "started by"
	status int    // the exit status, if Stops; 0 is exit.Failure
}

// print prints a finding: what it is, what it is about, why, and what to do.
func (f finding) print(c terminal.Console) {
	word := c.Paint(terminal.Yellow, "note:")
	if f.Stops {
		word = c.Paint(terminal.Red, "problem:")
	}
	print := func(text string) { c.PrintText(terminal.ShortHome(text, os.Getenv("HOME")) + "\n") }
	print(word + " " + show.Lines(f.What))
	if len(f.Of) > 0 {
		print("    " + cmp.Or(f.role, "for") + " " + show.Line(some(f.Of)))
	}
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

// join puts findings together that differ only in what they are about.
func join(all []finding) (joined []finding) {
	for _, f := range all {
		at := slices.IndexFunc(joined, func(o finding) bool { return o.What == f.What && o.Why == f.Why && o.Fix == f.Fix })
		if at < 0 {
			joined = append(joined, f)
			continue
		}
		for _, of := range f.Of {
			if !slices.Contains(joined[at].Of, of) {
				joined[at].Of = append(joined[at].Of, of)
			}
		}
	}
	return joined
}

func sortFindings(all []finding) []finding {
	slices.SortStableFunc(all, func(a, b finding) int { return cmp.Compare(order(a), order(b)) })
	return all
}

func order(f finding) int {
	if f.Stops {
		return 0
	}
	return 1
}

// statusOf returns the exit status of findings: the highest of those that stop something.
func statusOf(all []finding) error {
	status := exit.OK
	for _, f := range all {
		if f.Stops {
			status = max(status, cmp.Or(f.status, exit.Failure))
		}
	}
	if status == exit.OK {
		return nil
	}
	return exit.ReportedStatus(status)
}

// some returns the first of some words, and how many more there are.
func some(words []string) string {
	const most = 3
	if more := len(words) - most; more > 0 {
		return strings.Join(words[:most], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(words, ", ")
}
