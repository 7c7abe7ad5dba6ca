package wrapper

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestLauncherOf: which launcher a line begins with, "*" for one that runs what the project has.
func TestLauncherOf(t *testing.T) {
	for _, row := range testkit.Rows(t, "launchers.txt", 2) {
		line, want := row[0], row[1]
		l, ok := LauncherOf(strings.Fields(line))
		name := l.Name
		if l.Local {
			name += "*"
		}
		if name != want || ok != (want != "") {
			t.Errorf("%s: %q, %v, want %q", line, name, ok, want)
		}
	}
}

// TestLaunchersAreDocumented: each row says what the launcher does, or has its command for a secret, and the
// documentation has it.
func TestLaunchersAreDocumented(t *testing.T) {
	packages, reference := testkit.ReadFile(t, "../../docs/packages.md"), testkit.ReadFile(t, "../../docs/reference.md")
	for _, l := range launchers {
		if (l.Does == "" || l.Instead == "") == (l.Secret == nil) || strings.Contains(l.Does+l.Instead, "--net") {
			t.Errorf("%+v", l)
		}
		if !strings.Contains(packages, "`"+l.Name) {
			t.Errorf("docs/packages.md does not have %s", l.Name)
		}
	}
	for program := range carriers {
		if !strings.Contains(reference, "`"+program+"`") {
			t.Errorf("docs/reference.md does not have %s", program)
		}
	}
}

// TestElsewhere: what has another process start the server, also behind wrappers.
func TestElsewhere(t *testing.T) {
	for line, want := range map[string]string{
		"docker|run|-i|x": InContainer, "timeout|9|ssh|host": "on another machine", "bash|-lc|exec sudo node x": AsOther, "/usr/bin/wsl.exe|x": "in another system of this machine",
		"./ssh|host": "", "node|ssh|host": "", "sh|-c|cd / && docker run x": "", "npx|docker|run": "", "": "",
	} {
		if _, got := Elsewhere(strings.Split(line, "|")); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
	if _, got := Elsewhere(nil); got != "" {
		t.Errorf("no words: %q", got)
	}
}
