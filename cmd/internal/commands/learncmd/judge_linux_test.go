package learncmd

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/grantcmd"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/index"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/diagnostics/change"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// begun returns a change of the server true, which has an id, and its home directory.
func begun(t *testing.T) (edit func() *grantcmd.Edit, home string) {
	t.Helper()
	home = testkit.ShortDir(t)
	for _, name := range []string{"XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"} {
		t.Setenv(name, "")
	}
	t.Setenv("HOME", home)
	testkit.Must(t, os.MkdirAll(filepath.Join(home, "notes/a"), 0o700))
	testkit.Must(t, os.MkdirAll(filepath.Join(home, "work"), 0o700))
	t.Chdir(filepath.Join(home, "work"))
	testkit.PlantBelow(t, filepath.Join(home, ".config/mcp-jail/servers"), "true.toml")
	testkit.WriteFile(t, filepath.Join(home, ".config/mcp-jail/servers/true.toml"), "version = 1\n[servers.true]\nid = \"true-4k7q2m9x3vt5\"\ncommand = \"/bin/true\"\naccess.workspace = \"write\"\n")
	return func() *grantcmd.Edit {
		t.Helper()
		x, err := index.Read()
		testkit.Must(t, err)
		e, err := grantcmd.Begin(x, "true")
		testkit.Must(t, err)
		return e
	}, home
}

func failed(call string, sure diagnostics.Attribution, words ...string) failure {
	objects, err := change.Read(words)
	if err != nil {
		panic(err)
	}
	want := change.Want{Source: change.Recorded, Object: objects[0]}
	return failure{call: call, hints: []diagnostics.Hint{{Attribution: sure, Proposal: change.Proposal{Want: want}}}}
}

// TestTogether: what helps only with a thing that is left is not granted for a try, and of what is given the other half is.
func TestTogether(t *testing.T) {
	edit, home := begun(t)
	testkit.PlantBelow(t, home, "notes/b", ".ssh/id_rsa")
	for first, want := range map[string]int{"~/.ssh/id_rsa": 0, "~/notes/b": 2} {
		l := &loop{edit: edit(), name: "true", yes: true}
		f := failed("list", diagnostics.Certain, "--read", first)
		second := failed("list", diagnostics.Certain, "--read", "~/notes/a").hints[0]
		second.Proposal.Besides = true
		f.hints = append(f.hints, second)
		given, err := l.give(&try{failed: []failure{f}})
		testkit.Must(t, err)
		if len(given) != want {
			t.Errorf("with %s: %d are given, not %d", first, len(given), want)
		}
	}
}

// TestVariables: no variable is granted for a try, whatever its name. It is proposed at the end, and --yes skips it.
func TestVariables(t *testing.T) {
	edit, _ := begun(t)
	for _, name := range []string{"DATABASE_URL", "REDIS_URL", "MYSQL_PWD", "JWT", "SLACK_WEBHOOK_URL", "GITHUB_TOKEN", "REGION"} {
		l := &loop{edit: edit(), name: "true", yes: true}
		given, err := l.give(&try{failed: []failure{failed("list", diagnostics.Certain, "--env", name)}})
		testkit.Must(t, err)
		if len(given) > 0 || l.edit.Changed() || len(l.proposed) != 1 {
			t.Errorf("%s: given %d, proposed %d, left %d", name, len(given), len(l.proposed), len(l.left))
		}
		l.takeProposed()
		if len(l.left) != 1 || l.edit.Changed() {
			t.Errorf("%s is not skipped by --yes", name)
		}
	}
	l := &loop{edit: edit(), name: "true", yes: true}
	given, err := l.give(&try{failed: []failure{failed("list", diagnostics.Certain, "--env", "NODE_OPTIONS")}})
	if testkit.Must(t, err); len(given) > 0 || len(l.proposed) > 0 || len(l.left) != 1 {
		t.Error("what chooses code is not left out")
	}
}

// TestProposedBeware: what is proposed at the end comes with what to beware of.
func TestProposedBeware(t *testing.T) {
	edit, _ := begun(t)
	screen, program, err := testkit.Terminal(0, 0)
	testkit.Must(t, err)
	defer screen.Close()
	l := &loop{c: terminal.New(program, program, program), edit: edit(), name: "true"}
	_, err = l.give(&try{failed: []failure{failed("list", diagnostics.Certain, "--env", "A_TOKEN")}})
	testkit.Must(t, err)
	l.takeProposed()
	testkit.Must(t, program.Close())
	shown, _ := io.ReadAll(screen) // a terminal that nothing holds any more ends with EIO
	if text := string(shown); !l.edit.Changed() || !strings.Contains(text, "careful    A_TOKEN may hold a token") {
		t.Errorf("changed %t: %s", l.edit.Changed(), text)
	}
}

// TestPathBesideHost: once a host is granted, each path is asked about, also in the try that granted the host.
func TestPathBesideHost(t *testing.T) {
	edit, home := begun(t)
	dial, read := failed("dial", diagnostics.Certain, "--net", "api.example"), failed("read", diagnostics.Certain, "--read", "~/notes/a")
	for name, c := range map[string]struct {
		failed       []failure
		asked, given int
	}{
		"a path alone":         {[]failure{read}, 0, 1},
		"a path before a host": {[]failure{read, dial}, 1, 2},
		"a path after a host":  {[]failure{dial, read}, 2, 2},
	} {
		screen, program, err := testkit.Terminal(0, 0)
		testkit.Must(t, err)
		defer screen.Close()
		defer program.Close()
		_, err = screen.WriteString("y\ny\n")
		testkit.Must(t, err)
		out, err := os.Create(filepath.Join(home, "out"))
		testkit.Must(t, err)
		l := &loop{c: terminal.New(program, program, out), edit: edit(), name: "true"}
		given, err := l.give(&try{failed: c.failed})
		testkit.Must(t, err)
		if asked := strings.Count(testkit.ReadFile(t, out.Name()), "[y/N]"); asked != c.asked || len(given) != c.given {
			t.Errorf("%s: %d questions, %d given, want %d, %d", name, asked, len(given), c.asked, c.given)
		}
	}
}

// TestToolForAll: what a tool lacks that its server calls "*" is left, since its rules would be those of all tools. The
// control has another name.
func TestToolForAll(t *testing.T) {
	edit, home := begun(t)
	testkit.WriteFile(t, filepath.Join(home, ".config/mcp-jail/servers/true.toml"), "version = 1\n[servers.true]\nid = \"true-4k7q2m9x3vt5\"\ncommand = \"/bin/true\"\nstateful = false\n")
	for tool, want := range map[string]bool{"*": false, "list": true} {
		l := &loop{edit: edit(), name: "true", yes: true}
		g := &grant{Object: change.Path("~/notes/a", policy.Read), tool: tool, by: []string{tool}}
		tried, _, err := l.may(g, change.Recorded)
		if testkit.Must(t, err); tried != want {
			t.Errorf("%s: tried %t, %s", tool, tried, g.why)
		}
	}
}
