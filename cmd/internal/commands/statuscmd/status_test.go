package statuscmd

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/index"
	"github.com/mcp-jail/mcp-jail/diagnostics"
)

// TestTable tests that the table fits a terminal for each length of a name, and that control characters in the words of
// a client or a server do not reach the terminal.
func TestTable(t *testing.T) {
	now := time.Date(2026, 11, 28, 0, 30, 0, 0, time.Local)
	at := func(ago time.Duration) *time.Time { used := now.Add(-ago); return &used }
	failed := &index.Failure{Tool: "\x1b[31ma_tool_of_a_long_name_that_goes_on", Stage: diagnostics.StageCall, Blocked: true}
	rows := []*row{
		{Name: "plain", title: "Cursor", Jail: inJail, own: "own code", LastUsed: at(10 * time.Minute)},
		{Name: "very-" + strings.Repeat("long-", 9), Called: "other", title: "Visual Studio Code", Windows: true, Jail: weaker, Version: "2026.11.22-alpha.1234", LastUsed: at(50 * time.Minute), LastFailure: failed, Stored: &storedPart{Bytes: 25e6}},
		{Name: "started", Jail: nothing, own: "own code", LastUsed: at(3 * cli.Day), LastFailure: &index.Failure{Past: true}},
		{Name: "fails", title: "Zed", Jail: unclear, running: true, LastFailure: &index.Failure{Stage: diagnostics.StageStartup}},
	}
	s := &statusCmd{all: true}
	for _, width := range []int{64, 80, 100, 120} {
		got := s.table(rows, now, width)
		for line := range strings.Lines(got) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width || strings.Contains(line, "\x1b") {
				t.Errorf("a line has %d characters: %q", n, line)
			}
		}
		for _, want := range []string{"today 00:20", "yesterday 23:40", "3 days ago", " now ", " 25 MB\n"} {
			if width >= 80 && !strings.Contains(got, want) {
				t.Errorf("%d: no %q in\n%s", width, want, got)
			}
		}
	}
	if got := s.table(rows, now, 0); strings.Contains(got, "…") || !strings.Contains(got, "  Visual Studio Code on Windows  weaker  ") || !strings.Contains(got, "blocked  other   25 MB\n") || !strings.Contains(got, "start: failed") {
		t.Errorf("in a pipe:\n%s", got)
	}
}

// TestGroups tests that the same is said once, of all servers that it is true of.
func TestGroups(t *testing.T) {
	var g groups
	for _, name := range []string{"a", "b", "a"} {
		g.add(name, "NAMES runs", "NAMES run", "wrap", "wrap "+name)
		g.add(name, "NAMES is alone", "", "")
	}
	for i := range 12 {
		g.add(strings.Repeat("x", i+1), "NAMES stops", "NAMES stop", "")
	}
	said := ""
	for _, of := range g {
		p := of.problem()
		said += p.What + " " + strings.Join(p.Commands, ",") + "\n"
	}
	if want := "a and b run wrap\na is alone \nb is alone \na is alone \nx, xx, xxx, xxxx, xxxxx, xxxxxx, xxxxxxx, xxxxxxxx, xxxxxxxxx, xxxxxxxxxx and 2 more stop \n"; said != want {
		t.Errorf("%s", said)
	}
}
