package wrapping

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestDiffHidesArguments: the diff does not show secrets among the arguments.
func TestDiffHidesArguments(t *testing.T) {
	h := newHost(t)
	write(t, filepath.Join(h.Project, ".mcp.json"), `{"mcpServers": {"a": {"command": "x", "args": ["postgresql://u:hunter22@h/db", "--api-key=sesame", "--token", "open"]}}}`)
	diff := only(t, h, Selection{}).Wrap(Program{Path: program}, Selection{}, h, newIDs(h)).Diff()
	for _, secret := range []string{"hunter22", "sesame", `"open"`} {
		if strings.Contains(diff, secret) || !strings.Contains(diff, "***") {
			t.Errorf("%s stands in\n%s", secret, diff)
		}
	}
}

// TestDiffHidesLongSecrets: of a secret that begins like another one, the diff shows nothing either.
func TestDiffHidesLongSecrets(t *testing.T) {
	h := newHost(t)
	write(t, filepath.Join(h.Project, ".mcp.json"), `{"mcpServers": {"a": {"command": "x", "args": ["--token=sesame", "--key=sesame-B", "--secret=sesame-B-C", "--password=sesame-B-C-D", "--api-key=sesame-B-C-D-E"]}}}`)
	diff := only(t, h, Selection{}).Wrap(Program{Path: program}, Selection{}, h, newIDs(h)).Diff()
	if strings.Contains(diff, "sesame") || strings.Contains(diff, "***-") || !strings.Contains(diff, "--api-key=***\"") {
		t.Error(diff)
	}
}
