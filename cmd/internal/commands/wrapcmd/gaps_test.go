package wrapcmd

import (
	"fmt"
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

func TestClosing(t *testing.T) {
	for fix, want := range map[string]string{
		"":                    "",
		confine.FixNamespaces: "",
		"mount /proc":         "mount /proc",
		`remove these keys, or accept the whole network for this server with waive = ["net"] (--waive net)`: "remove these keys",
		`use Linux 5.7, or remove the net rules, or accept it with waive = ["net"] (--waive net)`:           "use Linux 5.7, or remove the net rules",
	} {
		if got := closing(confine.Gap{Fix: fix}); got != want {
			t.Errorf("%q: %q", fix, got)
		}
	}
}

// macGaps are gaps of a policy on a Mac: two of the system, and one of the policy.
var macGaps = []confine.Gap{
	{Axis: policy.AxisFs, What: "what is not granted is hidden", Why: "names can be guessed", Fix: "accept it", Platform: policy.WaiveMacOS},
	{Axis: policy.AxisProcess, What: "no process survives", Why: "one can leave", Fix: "accept it", Platform: policy.WaiveMacOS},
	{Axis: policy.AxisNet, What: "only the inbound ports 3000", Why: "all ports or none", Fix: "remove the inbound rules, or accept it"},
}

// TestGapsOfMacOS: wrap lists what macOS cannot enforce once, asks for one word, and writes that word into the
// file of each server. One that has the word is not asked about again, on any system.
func TestGapsOfMacOS(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	file := filepath.Join(os.Getenv("HOME"), ".cursor", "mcp.json")
	testkit.Must(t, os.MkdirAll(filepath.Dir(file), 0o755))
	const two = `{"mcpServers": {"one": {"command": "cat", "args": ["a"]}, "two": {"command": "cat", "args": ["b"]}}}`
	testkit.Must(t, os.WriteFile(file, []byte(two), 0o600))
	w := &wrapCmd{}
	w.Files = []string{file}
	host, files, err := w.Find()
	if err != nil || len(files) != 1 || len(files[0].Entries) != 2 {
		t.Fatal(files, err)
	}
	var open openGaps
	for i, e := range files[0].Entries {
		need := index.GapNeed{Gaps: macGaps[:2+i]} // the second has a gap of its policy too
		open.add(files[0], wrapping.ServerChange{Entry: e, Own: &config.ServerFile{Server: &config.Server{}}}, need)
	}
	open.axes = policy.OrderWaivers(open.axes)
	if got := index.AxisNames(open.axes, " "); got != "net macos" {
		t.Errorf("asked for %s", got)
	}
	printed, err := os.Create(filepath.Join(t.TempDir(), "out"))
	testkit.Must(t, err)
	open.print(terminal.New(nil, printed, printed))
	printed.Close()
	text, _ := os.ReadFile(printed.Name())
	out := strings.Join(strings.Fields(string(text)), " ")
	for _, once := range []string{"macOS has gaps under every policy", "what is not granted is hidden", "no process survives", "only the inbound ports 3000", "To prevent it: remove the inbound rules"} {
		if strings.Count(out, once) != 1 {
			t.Errorf("%q is there %d times in\n%s", once, strings.Count(out, once), out)
		}
	}
	if strings.Contains(out, "namespaces") || strings.Contains(out, "To prevent it: accept") {
		t.Error(out)
	}
	var waived [][]policy.Axis
	for _, c := range files[0].Wrap(wrapping.Program{Path: "/opt/mcp-jail"}, w.Selection, index.ClientsHost(host), w.ids(host, files)).Servers {
		waived = append(waived, c.Own.Server.Waive)
	}
	if fmt.Sprint(waived) != "[[macos] [net macos]]" {
		t.Errorf("%s", waived)
	}
	var none openGaps
	for _, system := range []index.GapNeed{{Gaps: macGaps[:2]}, {}} { // macOS, and Linux
		none.add(files[0], wrapping.ServerChange{Entry: files[0].Entries[0], Own: &config.ServerFile{Server: &config.Server{Waive: []policy.Axis{policy.WaiveMacOS}}}}, system)
	}
	if len(none.servers) > 0 {
		t.Errorf("asked again: %+v", none.servers)
	}
}
