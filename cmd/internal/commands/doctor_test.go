package commands

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestAppArmorProfile tests that the packaged profile is the one that doctor prints, with
// another path.
func TestAppArmorProfile(t *testing.T) {
	file := filepath.Join("..", "..", "..", "packaging", "apparmor", "mcp-jail")
	want := apparmorProfile()
	if os.Getenv("MCPJAIL_UPDATE") != "" {
		testkit.Must(t, os.WriteFile(file, []byte(want), 0o644))
	}
	got, err := os.ReadFile(file)
	testkit.Must(t, err)
	if string(got) != want {
		t.Errorf("%s differs from what doctor prints (MCPJAIL_UPDATE=1 writes it):\n%s", file, want)
	}
}

// TestAppArmorPaths tests, by what apparmor_parser makes of the profile, that it matches the
// programs of each way of installing that build jails, and no others. Versions before 4 know neither the
// userns rule nor the abi, so the test leaves out those two lines.
func TestAppArmorPaths(t *testing.T) {
	// installs are programs as each way of installing places them, where an update places them, and paths
	// that the profile must not match.
	installs := testkit.Table[struct {
		way, path string
		also, not []string
	}](t, "apparmor.txt")
	parser, err := exec.LookPath("apparmor_parser")
	if err != nil {
		parser = "/usr/sbin/apparmor_parser"
	}
	version, err := exec.Command(parser, "--version").Output()
	if err != nil {
		testkit.Skip(t, "apparmor_parser", "%v", err)
	}
	old := strings.Contains(string(version), "version 2.") || strings.Contains(string(version), "version 3.")
	for _, c := range installs {
		pattern, err := apparmorPattern(c.path, func(dir string) bool { return dir == "/sticky/" })
		if err != nil {
			t.Errorf("%s: %v", c.way, err)
			continue
		}
		text := apparmorProfile(pattern)
		if old {
			text = strings.ReplaceAll(strings.ReplaceAll(text, "abi <abi/4.0>,\n", ""), "  userns,\n", "")
		}
		for _, args := range [][]string{{"--names"}, {"--stdout"}} {
			cmd := exec.Command(parser, append(args, "--skip-kernel-load", "--skip-cache")...)
			cmd.Stdin = strings.NewReader(text)
			if out, err := cmd.Output(); err != nil || len(out) == 0 || args[0] == "--names" && strings.TrimSpace(string(out)) != "mcp-jail" {
				t.Errorf("%s: %v: %s\n%s", c.way, err, out, text)
			}
		}
		attached := attachment(t, parser, text)
		for _, path := range append([]string{c.path}, c.also...) {
			for _, program := range []string{path, path + "-cli"} {
				if !attached.MatchString(program) {
					t.Errorf("%s: the profile is not for %s: %s", c.way, program, attached)
				}
			}
		}
		for _, path := range append([]string{c.path + "-tls", c.path + "/mcp-jail"}, c.not...) {
			if attached.MatchString(path) {
				t.Errorf("%s: the profile is for %s: %s", c.way, path, attached)
			}
		}
	}
}

// attachment returns the expression that apparmor_parser compiles a profile's paths to.
func attachment(t *testing.T, parser, profile string) *regexp.Regexp {
	t.Helper()
	cmd := exec.Command(parser, "--skip-kernel-load", "--skip-cache", "--dump=expr-tree")
	cmd.Stdin = strings.NewReader(profile)
	out, err := cmd.CombinedOutput()
	_, tree, found := strings.Cut(string(out), "Expression Tree\n")
	tree, _, cut := strings.Cut(tree, "< 0x")
	if err != nil || !found || !cut {
		t.Fatalf("%v: %s", err, out)
	}
	tree = strings.NewReplacer("[^\\x0/]", "[^/]", "[]", "", "?", "\\?", "{", "\\{", "}", "\\}", "^", "\\^").Replace(tree)
	return regexp.MustCompile("^(" + strings.ReplaceAll(tree, "[\\^/]", "[^/]") + ")$")
}

func TestAppArmorRefusesPaths(t *testing.T) {
	for _, path := range []string{"/home/u\n/mcp-jail", "/home/\x1b[1m/mcp-jail", `/home/a\b/mcp-jail`} {
		if pattern, err := apparmorPattern(path, isSticky); err == nil {
			t.Errorf("%q: %s", path, pattern)
		}
	}
}

func TestIsWSL(t *testing.T) {
	for release, want := range map[string]bool{
		"5.15.167.4-microsoft-standard-WSL2": true, "4.4.0-22621-Microsoft": true, "6.6.87.2-microsoft-standard-WSL2+": true,
		"6.12.0-generic": false, "5.15.0-1057-azure": false, "": false,
	} {
		if got := isWSL(release); got != want {
			t.Errorf("%s: %v", release, got)
		}
	}
}
