package installed

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// TestPatience: no more interpreters are asked after those that took too long, and one that has told its version
// is not asked again until its file changes.
func TestPatience(t *testing.T) {
	host := &hostfs.Host{CacheDir: t.TempDir(), Lstat: func(string) (hostfs.FileInfo, error) { return hostfs.FileInfo{}, nil }}
	file := filepath.Join(t.TempDir(), "node")
	testkit.Must(t, os.WriteFile(file, []byte("#!"), 0o700))
	for _, c := range []struct {
		spent time.Duration
		text  string // the file, if it changes
		asked bool
		fails bool
	}{{maxSpent, "", false, true}, {maxSpent - 1, "", true, false}, {maxSpent, "", false, false}, {0, "#! another", true, false}, {0, "", false, false}} {
		if c.text != "" {
			testkit.Must(t, os.WriteFile(file, []byte(c.text), 0o700))
		}
		v, asked := openVersions(host, nil), false
		v.spent = c.spent
		v.run = func(context.Context, *hostfs.Host, []policy.Axis, string) (string, error) {
			asked = true
			return "v20.1.0", nil
		}
		got, err := v.ask(t.Context(), file)
		v.save()
		if asked != c.asked || (err != nil) != c.fails || (got == "20.1.0") == c.fails {
			t.Errorf("%+v: asked %v, %q, %v", c, asked, got, err)
		}
	}
}
