package wrapcmd

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/cmd/internal/wrapping"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

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
