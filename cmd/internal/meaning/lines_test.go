package meaning

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestFetched: what the jail refuses at each start is told, and not what may be on the disk.
func TestFetched(t *testing.T) {
	for line, want := range testkit.Named[string](t, "fetched.txt") {
		got := strings.Join(Fetched(strings.Split(line, "|")), "\n")
		if want == "" && got != "" || !strings.HasPrefix(got, want) || strings.Contains(got, "\n") {
			t.Errorf("%s: %q", line, got)
		}
	}
}

// TestLaunchers: what starts in front of a server is named with what to do, and no line proposes to
// open the network for it.
func TestLaunchers(t *testing.T) {
	for line, want := range testkit.Named[string](t, "launchers.txt") {
		got := strings.Join(Launchers(strings.Split(line, "|")), "\n")
		if strings.Contains(got, "--net") || want == "" && got != "" {
			t.Errorf("%s: %s", line, got)
		}
		for part := range strings.SplitSeq(want, "; ") {
			if !strings.Contains(got, part) {
				t.Errorf("%s: %q lacks %q", line, got, part)
			}
		}
	}
}
