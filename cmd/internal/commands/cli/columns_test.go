package cli_test

import (
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// TestColumns: a table is as wide as it may be. What does not fit goes on in the next line, a time or
// a size never, and what has no room there ends in "…". In a pipe the cells are whole.
func TestColumns(t *testing.T) {
	rows := [][]cli.Cell{
		cli.Heading("  NAME", "RUNS", "USED", "SIZE"),
		{{Text: "  files"}, cli.Words("@scope/server-filesystem"), cli.Whole("14 min ago"), cli.Amount("25 MB")},
		{{Text: "  tool-ae8a96f461ab0d36", Short: "  tool-ae8a…"}, cli.Words("node /home/me/projects/tool/index.js --with 'an option' and more of them"), cli.Whole("just now"), cli.Amount("3 kB")},
		{{Text: "  ümläute"}, cli.Words(strings.Repeat("x", 90)), cli.Whole("running"), cli.Amount("-")},
	}
	table := func(width int) string {
		return cli.Columns(rows, width, map[int]int{0: 20, 1: 16}, []int{1, 0})
	}
	whole := table(0)
	if strings.Count(whole, "\n") != len(rows) || strings.Contains(whole, "…") || !strings.Contains(whole, "and more of them") {
		t.Errorf("in a pipe:\n%s", whole)
	}
	for _, width := range []int{30, 40, 60, 61, 80, 100, 120, 300} {
		got := table(width)
		for line := range strings.Lines(got) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("%d: a line has %d characters: %s", width, n, line)
			}
		}
		for _, time := range []string{"14 min ago", "just now", "25 MB"} {
			if width >= 60 && !strings.Contains(got, time) {
				t.Errorf("%d: no %q in\n%s", width, time, got)
			}
		}
	}
	for width, want := range map[int][]string{
		40:  {"14 min ago", "server-", " filesystem"},
		60:  {"  tool-ae8a96f461ab0d36", " server- ", " index.js --with…", " xxxxxxxxxxxxxxx… "},
		300: {"  tool-ae8a96f461ab0d36", "@scope/server-filesystem"},
	} {
		got := strings.FieldsFunc(table(width), func(r rune) bool { return r == '\n' })
		for _, w := range want {
			if !slices.ContainsFunc(got, func(line string) bool { return strings.Contains(line, w) }) {
				t.Errorf("%d: no %q in\n%s", width, w, strings.Join(got, "\n"))
			}
		}
	}
}

func TestSizeText(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "1 kB", 999_499: "999 kB", 999_500: "1.0 MB", 9_949_999: "9.9 MB", 9_950_000: "10 MB", 17_424_704: "17 MB", 999_499_999: "999 MB", 999_500_000: "1.0 GB", 123_400_000_000: "123.4 GB"} {
		if got := cli.SizeText(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

func TestAgoText(t *testing.T) {
	now := time.Now()
	for d, want := range map[time.Duration]string{
		-time.Hour: "just now", 59 * time.Second: "just now", time.Minute: "1 min ago", 59 * time.Minute: "59 min ago", time.Hour: "1 h ago", 23 * time.Hour: "23 h ago",
		cli.Day: "1 day ago", 3 * cli.Day: "3 days ago", 13 * cli.Day: "13 days ago", 14 * cli.Day: "2 weeks ago", 59 * cli.Day: "8 weeks ago", 60 * cli.Day: "2 months ago", 364 * cli.Day: "12 months ago", 365 * cli.Day: "1 year ago", 800 * cli.Day: "2 years ago",
	} {
		if got := cli.AgoText(now, now.Add(-d)); got != want {
			t.Errorf("%s: %s, want %s", d, got, want)
		}
	}
}
