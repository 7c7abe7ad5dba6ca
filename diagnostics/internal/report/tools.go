package report

import (
	"fmt"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
)

// Bounds of what is said about changed tools.
const (
	maxDifference  = 500 // bytes
	maxDifferences = 10
)

// Tools describes how the tools of a server differ from those that mcp-jail.lock pins.
type Tools struct {
	Server      string
	Differences []string // a line for each; text of the server is quoted in it
	Accept      string   // the command that makes them the pinned ones; "" if they cannot be compared
	Refused     bool     // the client does not get them
}

// Diagnosis returns the diagnosis of changed tools.
func (t Tools) Diagnosis() Diagnosis {
	d := Diagnosis{Code: CodeTools, Stage: StageList, Attribution: Certain, Server: t.Server, Explain: PagePinTools}
	d.What = toolsDiffer(OfServer(t.Server), t.Accept != "", t.Refused)
	for i, line := range t.Differences {
		switch line = show.Cut(show.Line(line), maxDifference); {
		case i == 0:
			d.Cause = line
		case i < maxDifferences:
			d.Detail = append(d.Detail, line)
		}
	}
	if n := len(t.Differences) - maxDifferences; n > 0 {
		d.Detail = append(d.Detail, fmt.Sprintf("and %d more differences", n))
	}
	switch {
	case t.Accept == "":
		d.Fix = `report it to the authors of the server; pin_tools = "off" for this server compares nothing`
	case t.Refused:
		d.Fix = "if you trust the new ones, run `" + show.Line(t.Accept) + "` and start the server again"
	default:
		d.Fix = "if you trust the new ones, run `" + show.Line(t.Accept) + "`"
	}
	return d
}

// Warnings returns the diagnosis as warnings, a line each.
func (d Diagnosis) Warnings() []string {
	lines := []string{"warning: " + d.What + ": " + d.Cause}
	for _, l := range d.Detail {
		lines = append(lines, "warning: and of server "+show.Quote(d.Server)+": "+strings.TrimLeft(l, " "))
	}
	return append(lines, "warning: "+d.Fix+d.Explain.Reference())
}
