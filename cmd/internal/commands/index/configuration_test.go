package index

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestConfigurationProblems tests which faults are found in the working directory.
func TestConfigurationProblems(t *testing.T) {
	const good, bad = "[servers.s]\ncommand = \"true\"\n", "[servers.s]\ncommand = \"true\"\ncomand = 1\n"
	for name, c := range map[string]struct {
		files map[string]string
		want  string // "!" for a fault of trust
	}{
		"none":                     {nil, ""},
		"good":                     {map[string]string{"home/.config/mcp-jail/config.toml": good}, ""},
		"the user's":               {map[string]string{"home/.config/mcp-jail/config.toml": bad}, "home/.config/mcp-jail/config.toml:3"},
		"two faults":               {map[string]string{"home/.config/mcp-jail/config.toml": bad + "nett = 1\n"}, "home/.config/mcp-jail/config.toml:3\nhome/.config/mcp-jail/config.toml:4"},
		"no TOML":                  {map[string]string{"home/.config/mcp-jail/config.toml": "[servers"}, "home/.config/mcp-jail/config.toml:1"},
		"no such preset":           {map[string]string{"home/.config/mcp-jail/config.toml": good + "preset = \"gone\"\n"}, "home/.config/mcp-jail/config.toml:3"},
		"untrusted":                {map[string]string{"project/.mcp-jail.toml": good}, "!project/.mcp-jail.toml:0"},
		"untrusted and the user's": {map[string]string{"project/.mcp-jail.toml": good, "home/.config/mcp-jail/config.toml": bad}, "!project/.mcp-jail.toml:0\nhome/.config/mcp-jail/config.toml:3"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := plantHome(t, c.files)
			x := readAs(t, dir+"/bin/mcp-jail")
			var lines []string
			for _, p := range x.ConfigurationProblems() {
				line := strings.TrimPrefix(p.File, dir+"/") + ":" + string(rune('0'+p.Line))
				if p.Fix != "" {
					line = "!" + line
				}
				lines = append(lines, line)
			}
			if got := strings.Join(lines, "\n"); got != c.want {
				t.Errorf("finds\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// TestOfLauncher tests which paths are in a launcher's cache.
func TestOfLauncher(t *testing.T) {
	for path, want := range testkit.Named[bool](t, "programs.txt") {
		if got := InLauncherCache(path); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}

// TestIsBuild: a program in the bin directory of a clone is a build of it.
func TestIsBuild(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "bin", "mcp-jail")
	testkit.Must(t, os.Mkdir(filepath.Dir(path), 0o700))
	if isBuild(path) {
		t.Error("without sources")
	}
	testkit.WriteFile(t, filepath.Join(dir, "go.mod"), "module x\n")
	if !isBuild(path) {
		t.Error("beside sources")
	}
}
