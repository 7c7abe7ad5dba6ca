package resolve

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

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
	if err != nil {
		t.Fatal(err)
	}
	ws, _ := filepath.EvalSymlinks(t.TempDir())
	h.Dir, h.StateDir = ws, filepath.Join(ws, "..", "state")
	for _, line := range []string{"sh -c true", "env true", "python3 -c 0", "node -v", "npx -v"} {
		words := strings.Fields(line)
		if _, err := exec.LookPath(words[0]); err != nil {
			continue
		}
		pol, err := config.FromCommandLine(config.CommandLineOptions{Command: words, Workspace: ws})
		if err != nil {
			t.Fatal(err)
		}
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

// manyFiles makes a tree like an installed project: 1000 packages, 22,000 files.
func manyFiles(tb testing.TB) string {
	tb.Helper()
	dir := tb.TempDir()
	for i := range 1000 {
		for _, sub := range []string{"dist", "src"} {
			d := filepath.Join(dir, "node_modules", fmt.Sprintf("package-%d", i), sub)
			if err := os.MkdirAll(d, 0o755); err != nil {
				tb.Fatal(err)
			}
			for k := range 11 {
				if err := os.WriteFile(filepath.Join(d, fmt.Sprintf("module-%d.js", k)), nil, 0o644); err != nil {
					tb.Fatal(err)
				}
			}
		}
	}
	return dir
}

// BenchmarkResolve measures the share of this package in a start, for an empty workspace
// and for one with 22,000 files in 3,000 directories.
func BenchmarkResolve(b *testing.B) {
	h, err := hostfs.LocalHost()
	if err != nil {
		b.Fatal(err)
	}
	for _, bench := range []struct{ name, dir string }{{"empty", b.TempDir()}, {"22000-files", manyFiles(b)}} {
		b.Run(bench.name, func(b *testing.B) {
			h.Dir = bench.dir
			p, err := config.FromCommandLine(config.CommandLineOptions{Command: []string{"sh"}})
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if _, _, err := Resolve(p, h); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
