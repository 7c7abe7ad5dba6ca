package install

import (
	"context"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/packages/npm"
	"github.com/mcp-jail/mcp-jail/packages/runline"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// TestScriptsOfWindows tests that no script of a package runs on Windows, and that the refusal names the
// package, the reason and the way out. Other systems and packages without scripts are the control.
func TestScriptsOfWindows(t *testing.T) {
	with := []npm.Package{{Path: "node_modules/sharp", Name: "sharp", Version: "1.0.0"}}
	r := &npmRun{installer: &Installer{Host: hostfs.Host{OS: "windows"}, Scripts: true}}
	_, ofRun := r.runScripts(context.Background(), with) // fails before it looks at the jail, which is missing
	for _, err := range []error{ofRun, mayRunScripts("windows", with)} {
		if err == nil {
			t.Fatal("a script may run on Windows")
		}
		for _, part := range []string{"sharp", "cmd.exe", "install_scripts = false", "WSL 2"} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%v: no %s", err, part)
			}
		}
	}
	for _, system := range []string{"linux", "darwin"} {
		if err := mayRunScripts(system, with); err != nil {
			t.Errorf("%s: %v", system, err)
		}
	}
	if err := mayRunScripts("windows", nil); err != nil {
		t.Errorf("without scripts: %v", err)
	}
}

// TestPythonOfWindows tests that a line of uvx is refused on Windows before anything is looked for. A line
// of npx is the control.
func TestPythonOfWindows(t *testing.T) {
	uvx, err := runline.Parse([]string{"uvx", "mcp-server-time"})
	if err != nil {
		t.Fatal(err)
	}
	npx, err := runline.Parse([]string{"npx", "-y", "server"})
	if err != nil {
		t.Fatal(err)
	}
	i := &Installer{Host: hostfs.Host{OS: "windows"}}
	_, ofFetch := i.fetch(context.Background(), nil, &uvx, nil, false)
	for _, err := range []error{ofFetch, i.CanFetch(&uvx)} {
		if err == nil || !strings.Contains(err.Error(), "mcp-server-time: packages of Python are not fetched on Windows") || !strings.Contains(err.Error(), "WSL 2") {
			t.Error(err)
		}
	}
	if canFetchOn("windows", &npx) != nil || canFetchOn("linux", &uvx) != nil || canFetchOn("darwin", &uvx) != nil {
		t.Error("a line is refused that can be fetched")
	}
}

// TestLookOnWindows tests which npm a Windows has, how it is started, and what the error says where there is
// none.
func TestLookOnWindows(t *testing.T) {
	const node, dir = `C:\nodejs\node.exe`, `C:\nodejs\node_modules\npm`
	const script = dir + `\bin\npm-cli.js`
	for _, c := range []struct {
		name, path, work string
		files            []string
		bad              string   // a directory that a server may write
		want             []string // parts of the error; nil: the npm beside node
		not              string   // what the error does not say
	}{
		{"there", `C:\nodejs`, `C:\work`, []string{node, script}, "", nil, ""},
		{"npm.cmd is not what is started", `C:\nodejs`, `C:\work`, []string{node, script, `C:\nodejs\npm.cmd`, `C:\nodejs\npm`}, "", nil, ""},
		{"no node", `C:\bin;C:\b`, `C:\work`, []string{`C:\bin\npm.cmd`}, "", []string{"node.exe was not found in PATH, nor in the directories", "winget install OpenJS.NodeJS.LTS"}, "left out"},
		{"no npm", `C:\nodejs`, `C:\work`, []string{node}, "", []string{"npm was not found in PATH, nor beside " + node, "winget install"}, "distribution"},
		{"a relative directory", `bin;C:\b`, `C:\work`, nil, "", []string{"node.exe was not found", "(bin is left out: it is relative)"}, ""},
		{"the working directory", `C:\NODEJS\.;C:\nodejs`, `c:\nodejs`, []string{node, script}, "", []string{node + " is not used: servers may write to the working directory"}, ""},
		{"a server may write node", `C:\nodejs`, `C:\work`, []string{node, script}, `C:\nodejs`, []string{"node.exe was not found in PATH (" + node + " is not used: a server may write it)"}, "left out"},
		{"a server may write npm", `C:\nodejs`, `C:\work`, []string{node, script}, dir, []string{"npm was not found in PATH (" + script + " is not used: a server may write it), nor beside " + node}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			i := &Installer{Host: hostfs.Host{OS: "windows", UID: -1, Home: `C:\Users\u`, Dir: c.work, Environ: []string{"PATH=" + c.path}, Lstat: func(path string) (hostfs.FileInfo, error) {
				if slices.ContainsFunc(c.files, func(f string) bool { return strings.EqualFold(f, path) }) {
					return hostfs.FileInfo{Mode: 0o666}, nil
				}
				return hostfs.FileInfo{}, fs.ErrNotExist
			}}}
			i.Untrusted = func(file string) string {
				if c.bad != "" && strings.HasPrefix(file, c.bad) {
					return "a server may write it"
				}
				return ""
			}
			p, err := i.findNPM(t.Context(), nil)
			if c.want == nil {
				if err != nil || p.file != script || !slices.Equal(p.argv, []string{node, script}) || p.dir != dir || p.version != "" || p.prefix != `C:\nodejs` {
					t.Errorf("%+v, %v", p, err)
				}
				return
			}
			if err == nil {
				t.Fatalf("%+v", p)
			}
			for _, part := range c.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("no %q in: %v", part, err)
				}
			}
			if c.not != "" && strings.Contains(err.Error(), c.not) {
				t.Errorf("%q in: %v", c.not, err)
			}
		})
	}
}
