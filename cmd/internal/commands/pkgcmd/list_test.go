package pkgcmd

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/index"
	"github.com/mcp-jail/mcp-jail/cmd/internal/records"
	"github.com/mcp-jail/mcp-jail/cmd/internal/stored"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/packages/lockfile"
)

func TestAgeFlag(t *testing.T) {
	for text, want := range map[string]time.Duration{"30d": 30 * cli.Day, "12h": 12 * time.Hour, "8w": 56 * cli.Day, "0d": 0, "30": 0, "": 0, "d": 0, "-3d": 0, "1.5d": 0, "99999d": 0, "30 d": 0, "3m": 0} {
		var got time.Duration
		err := ageFlag{&got}.Set(text)
		if got != want || (err == nil) != (want > 0) {
			t.Errorf("%q: %s, %v, want %s", text, got, err, want)
		}
	}
}

// TestServerTable tests that the table fits a terminal for each length of a server's name, and
// that control characters in the words of a client or a server do not reach the terminal.
func TestServerTable(t *testing.T) {
	now := time.Now()
	all := &stored.All{Servers: []*stored.Server{
		{Name: "plain", Used: now.Add(-3 * cli.Day)},
		{
			Name: "server-" + strings.Repeat("very-long-", 9) + "0123456789abcdef", Used: now.Add(-13 * cli.Day), Running: true, Failure: &stored.Failure{Time: now.Add(-50 * time.Minute)},
			About: records.About{Command: []string{"npx"}, Client: records.Client{Name: "\x1b[31mclient-of-a-long-name", Version: "2026.11.22-beta+ümläut"}},
			Pins:  []*lockfile.Entry{{Name: "@modelcontextprotocol/server-sequential-thinking", Version: "2026.11.22-alpha.1234"}},
		},
		{Name: "script", Used: now, About: records.About{Command: []string{"sh", "-c", "echo\n" + strings.Repeat("x ", 100)}}, Records: 1234},
		{Name: "mended", Used: now, Failure: &stored.Failure{Time: now.Add(-40 * time.Minute), Past: true}},
		{Name: "offline", Used: now, Asked: "mcp-server-time@latest"},
	}}
	for _, width := range []int{60, 80, 90, 100, 120} {
		for line := range strings.Lines(serverTable(&index.Index{}, all, now, width)) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("a line has %d characters: %s", n, line)
			}
		}
	}
	if got := serverTable(&index.Index{}, all, now, 80); !strings.Contains(got, " 50 min ago  ") || !strings.Contains(got, " 1 kB\n") {
		t.Errorf("narrow:\n%s", got)
	}
	if got := serverTable(&index.Index{}, all, now, 0); strings.Count(got, "\n") != 6 || strings.Contains(got, "…") || !strings.Contains(got, "@modelcontextprotocol/server-sequential-thinking") {
		t.Errorf("in a pipe:\n%s", got)
	}
	got := serverTable(&index.Index{}, all, now, terminal.TextWidth)
	if strings.Contains(got, "\x1b") || strings.Contains(got, "40 min") {
		t.Errorf("%s", got)
	}
	for _, want := range []string{"NAME ", " SIZE\n", "plain ", " 3 days ago ", " running ", " 50 min ago ", " 1 kB\n", "  sequential-  ", "  mcp-server-  "} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

// TestWaivedText tests that servers that accept the same are named together.
func TestWaivedText(t *testing.T) {
	server := func(name string, axes ...string) *stored.Server {
		return &stored.Server{Name: name, About: records.About{Waived: axes}}
	}
	got := waivedText(&index.Index{}, &stored.All{Servers: []*stored.Server{server("a", "fs", "limits"), server("b", "fs"), server("c"), server("d", "fs", "limits")}})
	mac := waivedText(&index.Index{}, &stored.All{Servers: []*stored.Server{server("a", "fs", "macos"), server("b", "macos")}})
	if want := "a: gaps are accepted (--waive) on fs\na, b: accepted (--waive) is what macOS cannot enforce\n"; mac != want {
		t.Errorf("%s", mac)
	}
	if want := "a, d: gaps are accepted (--waive) on fs, limits\nb: gaps are accepted (--waive) on fs\n"; got != want {
		t.Errorf("%s", got)
	}
}

// TestUnneededText tests that directories which are empty or in use are not counted as leftovers.
func TestUnneededText(t *testing.T) {
	all := &stored.All{Leftovers: []stored.Leftover{{Path: "empty"}, {Path: "busy", Bytes: 5, Busy: true}}}
	if got := unneededText(all); got != "" {
		t.Error(got)
	}
	all.Leftovers = append(all.Leftovers, stored.Leftover{Path: "old", Bytes: 7})
	if got := unneededText(all); !strings.HasPrefix(got, "also kept: 1 leftover of interrupted work, 7 B; ") {
		t.Error(got)
	}
}
