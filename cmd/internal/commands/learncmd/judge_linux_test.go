package learncmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/grantcmd"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/index"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestPathBesideHost: once a host is granted, each path is asked about, also in the try that granted the host.
func TestPathBesideHost(t *testing.T) {
	home := testkit.ShortDir(t)
	for _, name := range []string{"XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"} {
		t.Setenv(name, "")
	}
	t.Setenv("HOME", home)
	testkit.Must(t, os.MkdirAll(filepath.Join(home, "notes/a"), 0o700))
	testkit.Must(t, os.MkdirAll(filepath.Join(home, "work"), 0o700))
	t.Chdir(filepath.Join(home, "work"))
	testkit.PlantBelow(t, filepath.Join(home, ".config/mcp-jail/servers"), "true.toml")
	testkit.WriteFile(t, filepath.Join(home, ".config/mcp-jail/servers/true.toml"), "version = 1\n[servers.true]\nid = \"true-4k7q2m9x3vt5\"\ncommand = \"/bin/true\"\naccess.workspace = \"write\"\n")
	failed := func(call string, words ...string) failure {
		return failure{call: call, hints: []diagnostics.Hint{{Attribution: diagnostics.Certain, Axis: policy.AxisFs, Words: words}}}
	}
	dial, read := failed("dial", "--net", "api.example"), failed("read", "--read", "~/notes/a")
	for name, c := range map[string]struct {
		failed       []failure
		asked, given int
	}{
		"a path alone":         {[]failure{read}, 0, 1},
		"a path before a host": {[]failure{read, dial}, 1, 2},
		"a path after a host":  {[]failure{dial, read}, 2, 2},
	} {
		x, err := index.Read()
		testkit.Must(t, err)
		edit, err := grantcmd.Begin(x, "true")
		testkit.Must(t, err)
		screen, program, err := testkit.Terminal(0, 0)
		testkit.Must(t, err)
		defer screen.Close()
		defer program.Close()
		_, err = screen.WriteString("y\ny\n")
		testkit.Must(t, err)
		out, err := os.Create(filepath.Join(home, "out"))
		testkit.Must(t, err)
		l := &loop{c: terminal.New(program, program, out), edit: edit, name: "true"}
		given, err := l.give(&try{failed: c.failed})
		testkit.Must(t, err)
		if asked := strings.Count(testkit.ReadFile(t, out.Name()), "[y/N]"); asked != c.asked || len(given) != c.given {
			t.Errorf("%s: %d questions, %d given, want %d, %d", name, asked, len(given), c.asked, c.given)
		}
	}
}
