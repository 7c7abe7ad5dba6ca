package wrapping

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestDiffHides: the diff shows no secret among the variables and the arguments, and nothing of one that begins
// like another one.
func TestDiffHides(t *testing.T) {
	for entry, c := range map[string]struct{ hidden, shown []string }{
		`"env": {"TOKEN": "ghp_\u0073ecret", "KEY": "sec\"ret"}`:                                                                     {[]string{"ecret", "sec"}, []string{`"run"`}},
		`"args": ["postgresql://u:hunter22@h/db", "--api-key=sesame", "--token", "open"]`:                                            {[]string{"hunter22", "sesame", `"open"`}, []string{"***"}},
		`"args": ["--token=sesame", "--key=sesame-B", "--secret=sesame-B-C", "--password=sesame-B-C-D", "--api-key=sesame-B-C-D-E"]`: {[]string{"sesame", "***-"}, []string{`--api-key=***"`}},
	} {
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
