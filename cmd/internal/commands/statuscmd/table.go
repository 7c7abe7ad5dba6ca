package statuscmd

import (
	"cmp"
	"time"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/internal/show"
)

// The columns that become narrower where the table is too wide, each with its least width.
var leastWidths = map[int]int{0: 20, 1: 14, 3: 12, 5: 20}

// table returns the table, for a width; 0 is any width.
func (s *statusCmd) table(rows []*row, now time.Time, width int) string {
	sizes := s.all || s.unused > 0
	names := []string{"SERVER", "CLIENT", "JAIL", "VERSION", "LAST USED", "LAST FAILURE"}
	if sizes {
		names = append(names, "SIZE")
	}
	table := [][]cli.Cell{cli.Heading(names...)}
	for _, r := range rows {
		cells := []cli.Cell{cli.Words(cmp.Or(r.Name, "(no name)")), cli.Words(r.client()), cli.Words(r.Jail.shown()), cli.Words(cmp.Or(r.Version, r.own)), cli.Whole(r.used(now)), r.failure()}
		if sizes {
			cells = append(cells, cli.Amount(r.size()))
		}
		table = append(table, cells)
	}
	return cli.Columns(table, width, leastWidths, []int{1, 5, 0, 3})
}

func (j jail) shown() string {
	switch j {
	case noJail:
		return "NO"
	case nothing:
		return "-"
	}
	return string(j)
}

// client returns the client of a row, and what tells the row from others of one name.
func (r *row) client() string {
	title := r.title
	if r.Windows {
		title += " on Windows"
	}
	if r.Called != "" && r.Called != r.Name {
		title += ", as " + r.Called
	}
	return title
}

func (r *row) used(now time.Time) string {
	switch {
	case r.running:
		return "now"
	case r.LastUsed != nil:
		return whenText(now, *r.LastUsed)
	case r.Jail == inJail || r.Jail == weaker:
		return "never"
	case r.Jail == nothing:
		return "-"
	}
	return "not known"
}

// whenText returns a time of today or yesterday as such, and how long ago any other one was.
func whenText(now, at time.Time) string {
	at, now = at.Local(), now.Local()
	for i, day := range []string{"today", "yesterday"} {
		if y, m, d := now.AddDate(0, 0, -i).Date(); at.Year() == y && at.Month() == m && at.Day() == d {
			return day + at.Format(" 15:04")
		}
	}
	return cli.AgoText(now, at)
}

func (r *row) failure() cli.Cell {
	failed := r.failed()
	switch {
	case failed == nil && r.LastUsed == nil:
		return cli.Cell{}
	case failed == nil:
		return cli.Words("none")
	}
	return cli.Words(failedStep(failed.Tool, failed.Stage) + ": " + failedHow(failed.Blocked))
}

func failedStep(tool string, stage diagnostics.Stage) string {
	switch {
	case tool != "":
		return show.InSentence(tool)
	case stage == diagnostics.StageList:
		return "tools"
	case stage == diagnostics.StageCall:
		return "call"
	}
	return "start"
}

func failedHow(blocked bool) string {
	if blocked {
		return "blocked"
	}
	return "failed"
}
