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
	diff := only(t, h, Selection{}).Wrap(Program{Path: program}, Selection{}, h, NewNames(nil, nil)).Diff()
	for _, secret := range []string{"hunter22", "sesame", `"open"`} {
		if strings.Contains(diff, secret) || !strings.Contains(diff, "***") {
			t.Errorf("%s stands in\n%s", secret, diff)
		}
	}
}
