package wrapcmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/index"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/cmd/internal/wrapping"
	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// printed returns what a function prints, with one blank in place of each row of them.
func printed(t *testing.T, print func(terminal.Console)) string {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "out"))
	testkit.Must(t, err)
	print(terminal.New(nil, f, f))
	f.Close()
	text, _ := os.ReadFile(f.Name())
	return strings.Join(strings.Fields(string(text)), " ")
}

// TestGapsOfWindows: wrap says once what Windows cannot enforce, for all servers, and asks for one word.
func TestGapsOfWindows(t *testing.T) {
	windows := []confine.Gap{
		{Axis: policy.AxisFs, What: "which files", Why: "none is restricted", Fix: "accept it", Platform: policy.WaiveWindows},
		{Axis: policy.AxisNet, What: "which hosts", Why: "none is restricted", Fix: "accept it", Platform: policy.WaiveWindows},
	}
	w := &wrapCmd{}
	w.Files = []string{filepath.Join(t.TempDir(), ".cursor", "mcp.json")}
	testkit.Must(t, os.Mkdir(filepath.Dir(w.Files[0]), 0o755))
	testkit.Must(t, os.WriteFile(w.Files[0], []byte(`{"mcpServers": {"one": {"command": "cat"}, "two": {"command": "cat"}}}`), 0o600))
	_, files, err := w.Find()
	if err != nil || len(files) != 1 || len(files[0].Entries) != 2 {
		t.Fatal(files, err)
	}
	var open openGaps
	for _, e := range files[0].Entries {
		open.add(files[0], wrapping.ServerChange{Entry: e, Own: &config.ServerFile{Server: &config.Server{}}}, index.GapNeed{Gaps: windows})
	}
	if got := index.AxisNames(policy.OrderWaivers(open.axes), " "); got != "windows" {
		t.Errorf("asked for %s", got)
	}
	out := printed(t, open.print)
	for _, once := range []string{"Windows has gaps under every policy: servers read all your files and reach every host", "run servers in WSL 2", "pass this rule: which files (none is restricted)", "pass this rule: which hosts"} {
		if strings.Count(out, once) != 1 {
			t.Errorf("%q is there %d times in\n%s", once, strings.Count(out, once), out)
		}
	}
	if strings.Contains(out, "namespaces") || strings.Contains(out, "To prevent it") {
		t.Error(out)
	}
}

// TestReachOnWindows: a server that gets a jail of Windows is not said to lose files or hosts. One on
// another system is.
func TestReachOnWindows(t *testing.T) {
	said := func(waived ...policy.Axis) string {
		s := wrapping.ServerChange{Own: &config.ServerFile{Server: &config.Server{Waive: waived}}}
		s.Gets = []string{"/src (read only)"}
		return reach(s, "/home/u") + "|" + strings.Join(losses([]wrapping.ServerChange{s}), "")
	}
	if got := said(policy.WaiveWindows); got != "all of your files to read, every host: no jail on Windows holds more|" {
		t.Error(got)
	}
	if got := said(); !strings.HasPrefix(got, "/src (read only)|It cannot reach your other files, other hosts") {
		t.Error(got)
	}
}
