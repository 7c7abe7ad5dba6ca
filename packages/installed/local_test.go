package installed

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/packages/runline"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// TestLocal: what npx would run of the project stops a line that is not of the user's own, and the error has the line
// that starts it by its path.
func TestLocal(t *testing.T) {
	for _, row := range testkit.Rows(t, "local.txt", 6) {
		t.Run(row[0], func(t *testing.T) {
			top := testkit.Get(filepath.EvalSymlinks(t.TempDir()))(t)
			testkit.Must(t, os.MkdirAll(filepath.Join(top, "d/e"), 0o700))
			for _, file := range strings.Fields(row[2]) {
				name, text, _ := strings.Cut(file, "=")
				testkit.Must(t, os.MkdirAll(filepath.Join(top, filepath.Dir(name)), 0o700))
				testkit.WriteFile(t, filepath.Join(top, name), text)
			}
			line := testkit.Get(runline.Parse(strings.Fields(row[1])))(t)
			host := testkit.Get(hostfs.LocalHost())(t)
			host.Home, host.Dir = top, filepath.Join(top, "d")
			at, err := Finder{Host: &host, Own: row[3] != ""}.local(&line)
			place, start := "", strings.ReplaceAll(row[5], "TOP", top)
			if row[4] != "" {
				place = filepath.Join(top, row[4])
			}
			if row[3] != "" || place == "" {
				if at != place || err != nil {
					t.Errorf("%q, %v, want %q", at, err, place)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), " runs "+place+", which") || start != "" && !strings.HasSuffix(err.Error(), "`"+start+"`") {
				t.Errorf("%v, want %q and %q", err, place, start)
			}
		})
	}
}
