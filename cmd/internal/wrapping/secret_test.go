package wrapping

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestDiffHides: the diff shows no secret among the variables and the arguments, and nothing of one that begins
// like another one.
func TestDiffHides(t *testing.T) {
	for entry, c := range testkit.Named[struct{ hidden, shown []string }](t, "secrets.txt") {
		h := newHost(t)
		write(t, filepath.Join(h.Project, ".mcp.json"), `{"mcpServers": {"a": {"command": "x", `+entry+`}}}`)
		diff := only(t, h, Selection{}).Wrap(Program{Path: program}, Selection{}, h, newIDs(h)).Diff()
		for _, text := range append(c.hidden, c.shown...) {
			if strings.Contains(diff, text) != slices.Contains(c.shown, text) {
				t.Errorf("%s:\n%s", text, diff)
			}
		}
	}
}
