package wrapcmd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/index"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/cmd/internal/wrapping"
	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// TestPrintBroken: where a file could not be read, the command fails.
func TestPrintBroken(t *testing.T) {
	errs := testkit.Get(os.Create(filepath.Join(t.TempDir(), "err")))(t)
	defer errs.Close()
	good, bad := &wrapping.File{Path: "/good"}, &wrapping.File{Path: "/bad", Err: errors.New("/bad: line 1")}
	testkit.Equal(t, "a good file", terminal.Status(printBroken(terminal.New(nil, nil, errs), []*wrapping.File{good}, "/h", "wrap")), terminal.OK)
	testkit.Equal(t, "a bad one before it", terminal.Status(printBroken(terminal.New(nil, nil, errs), []*wrapping.File{bad, good}, "/h", "wrap")), terminal.Failure)
}

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
		s := wrapping.ServerChange{Own: &config.ServerFile{Server: &config.Server{Name: "s", Waive: waived}}}
		s.Server, s.Gets = "s", []string{"/src (read only)"}
		return reach(s, "/home/u") + "|" + strings.Join(losses([]wrapping.ServerChange{s}), "")
	}
	if got := said(policy.WaiveWindows); got != "all of your files to read, every host: no jail on Windows holds more|" {
		t.Error(got)
	}
	if got := said(); !strings.HasPrefix(got, "/src (read only)|It cannot reach your other files, or a host") {
		t.Error(got)
	}
}

// TestLeaveRefused: wrap on Windows leaves the servers that mcp-jail does not start there, each with the reason.
// What is only missing, it wraps with a note.
func TestLeaveRefused(t *testing.T) {
	home := t.TempDir()
	path := filepath.Join(home, "mcp.json")
	const text = `{"mcpServers": {
		"batch": {"command": "C:\\b\\b.cmd"}, "found": {"command": "own", "env": {"Path": "D:\\p"}}, "share": {"command": "node", "args": ["\\\\evil\\share\\x.js"]},
		"device": {"command": "node", "args": ["--no-warnings", "\\\\.\\C:\\x.js"]}, "data": {"command": "node", "args": ["x.js", "\\\\nas\\notes"]},
		"package": {"command": "npx", "args": ["-y", "s"]}, "missing": {"command": "none"}, "linux": {"command": "\\\\wsl.localhost\\Ubuntu\\x"}}}`
	testkit.Must(t, os.WriteFile(path, []byte(text), 0o600))
	as := clients.Host{OS: "linux", Home: home, Env: func(string) string { return "" }}
	sel := wrapping.Selection{Files: []string{path}, Clients: []string{"gemini-cli"}}
	files := map[string]string{
		`C:\b\b.cmd`: "calc %*", `D:\p\own.bat`: "", `C:\b\node.exe`: "", `C:\b\npx.cmd`: "",
	}
	host := hostfs.Host{
		Home: `C:\Users\u`, Dir: `C:\work`, Environ: []string{`PATH=C:\b`},
		Lstat: func(p string) (hostfs.FileInfo, error) {
			if _, ok := files[p]; ok {
				return hostfs.FileInfo{}, nil
			}
			return hostfs.FileInfo{}, fs.ErrNotExist
		},
	}
	for system, want := range map[string][]string{
		"windows": {"batch: C:\\b\\b.cmd is a batch file", "device: it goes around the rules of names", "found: D:\\p\\own.bat is a batch file", "linux: it is on another machine", "package: C:\\b\\npx.cmd is a batch file", "share: it is on another machine"},
		"linux":   nil,
	} {
		host.OS = system
		found, err := wrapping.Find(as, sel)
		if err != nil || len(found) != 1 || len(found[0].Entries) != 8 {
			t.Fatal(found, err)
		}
		leaveRefused(found, sel, host, as)
		var left []string
		for _, e := range found[0].Entries {
			if e.Left != "" {
				left = append(left, e.Server+": "+string(e.Left))
			}
		}
		slices.Sort(left)
		fits := func(got, want string) bool {
			server, why, _ := strings.Cut(want, ": ")
			return strings.HasPrefix(got, server+": would not start in a jail: ") && strings.Contains(got, why)
		}
		if !slices.EqualFunc(left, want, fits) {
			t.Errorf("%s: left are %q, want %q", system, left, want)
		}
	}
}
