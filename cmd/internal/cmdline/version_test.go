package cmdline

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestVersion tests that both programs of a release have its version and commit, and that those
// of a plain build have neither.
func TestVersion(t *testing.T) {
	testkit.NeedsLong(t)
	root, err := filepath.Abs(filepath.Join("..", "..", ".."))
	testkit.Must(t, err)
	const variables = "github.com/mcp-jail/mcp-jail/cmd/internal/cmdline."
	for _, c := range []struct{ flags, version, commit string }{
		{"-X " + variables + "release=1.2.3-test -X " + variables + "releaseCommit=0123abc", "1.2.3-test", "0123abc"},
		{"-s", "development", "unknown"},
	} {
		dir := t.TempDir()
		build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", c.flags, "-o", dir+"/", "./cmd/mcp-jail", "./cmd/mcp-jail-cli")
		build.Dir, build.Env = root, append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("go build: %v\n%s", err, out)
		}
		out, err := exec.Command(filepath.Join(dir, Main), "version", "--format", "json").Output()
		testkit.Must(t, err)
		var said struct{ Version, Commit, Go string }
		testkit.Must(t, json.Unmarshal(out, &said))
		if said.Version != c.version || said.Commit != c.commit || !strings.HasPrefix(said.Go, "go1.") {
			t.Errorf("with %q it says %s", c.flags, out)
		}
	}
}
