package sys

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestTotalSwap reads the swap of a host with swap, of one without, and of one that does not
// tell.
func TestTotalSwap(t *testing.T) {
	for _, c := range []struct {
		text  string
		total int64
		known bool
	}{
		{"MemTotal: 100 kB\nSwapTotal:       8 kB\nSwapFree: 1 kB\n", 8192, true},
		{"SwapTotal:       0 kB\n", 0, true},
		{"MemTotal: 100 kB\n", 0, false},
		{"", 0, false},
	} {
		dir := t.TempDir()
		if c.text != "" {
			testkit.Must(t, os.WriteFile(filepath.Join(dir, "meminfo"), []byte(c.text), 0o600))
		}
		if total, known := TotalSwap(dir); total != c.total || known != c.known {
			t.Errorf("%q: %d, %t", c.text, total, known)
		}
	}
}
