package doctorcmd

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestAppArmorProfile tests that the packaged profile is the one that doctor prints, with
// another path.
func TestAppArmorProfile(t *testing.T) {
	file := filepath.Join("..", "..", "..", "..", "packaging", "apparmor", "mcp-jail")
	want := apparmorProfile(apparmorPattern)
	if os.Getenv("MCPJAIL_UPDATE") != "" {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s differs from what doctor prints (MCPJAIL_UPDATE=1 writes it):\n%s", file, want)
	}
}

// TestAppArmorParses tests that apparmor_parser accepts the profile. Versions before 4
// know neither the userns rule nor the abi, so the test leaves out those two lines.
func TestAppArmorParses(t *testing.T) {
	parser, err := exec.LookPath("apparmor_parser")
	if err != nil {
		parser = "/usr/sbin/apparmor_parser"
	}
	version, err := exec.Command(parser, "--version").Output()
	if err != nil {
		testkit.Skip(t, "apparmor_parser", "%v", err)
	}
	for _, path := range []string{apparmorPattern, quoteApparmorPath("/home/u/go/bin/mcp-jail"), quoteApparmorPath(`/home/a b/go{x}"/bin/mcp-jail`)} {
		text := apparmorProfile(path)
		if strings.Contains(string(version), "version 2.") || strings.Contains(string(version), "version 3.") {
			text = strings.ReplaceAll(strings.ReplaceAll(text, "abi <abi/4.0>,\n", ""), "  userns,\n", "")
		}
		cmd := exec.Command(parser, "--skip-kernel-load", "--skip-cache", "--names")
		cmd.Stdin = strings.NewReader(text)
		if out, err := cmd.Output(); err != nil || strings.TrimSpace(string(out)) != "mcp-jail" {
			t.Errorf("%s: %v: %s\n%s", path, err, out, text)
		}
		cmd = exec.Command(parser, "--skip-kernel-load", "--skip-cache", "--stdout")
		cmd.Stdin = strings.NewReader(text)
		if out, err := cmd.Output(); err != nil || len(out) == 0 {
			t.Errorf("%s: %v", path, err)
		}
	}
}
