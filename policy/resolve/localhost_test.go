package resolve

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// TestResolveLocalHost resolves programs of this machine and checks that their profiles
// contain every file that the kernel opens to start them.
func TestResolveLocalHost(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux names the loader in an ELF header")
	}
	h, err := hostfs.LocalHost()
	testkit.Must(t, err)
	ws, _ := filepath.EvalSymlinks(t.TempDir())
	h.Dir, h.StateDir = ws, filepath.Join(ws, "..", "state")
	for _, line := range []string{"sh -c true", "env true", "python3 -c 0", "node -v", "npx -v"} {
		words := strings.Fields(line)
		if _, err := exec.LookPath(words[0]); err != nil {
			continue
		}
		pol, err := config.FromCommandLine(config.CommandLineOptions{Command: words, Workspace: ws})
		testkit.Must(t, err)
		p, ws, err := Resolve(pol, h)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		checkProfile(t, p)
		if len(ws) != 0 || !p.Allows(policy.OpExec, p.Program) {
			t.Errorf("%s: %v %s", line, ws, p.RightsAt(p.Program))
		}
		if real, _ := filepath.EvalSymlinks(p.Program); real != p.Program {
			t.Errorf("%s: program %s is not canonical", line, p.Program)
		}
	}
}
