package install

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
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

// TestSourcesOnWindows tests that no source distribution is built on Windows, also where install scripts are
// allowed, and what the error says. Other systems are the control.
func TestSourcesOnWindows(t *testing.T) {
	failed := &PythonError{What: "mcp-server", Installer: "pip", Output: "ERROR: No matching distribution found for old==1.0", log: "Skipping link: No sources permitted for old", system: "windows"}
	p := &pythonFetch{Installer: &Installer{Host: hostfs.Host{OS: "windows"}, Scripts: true}} // it fails before it looks at the jail, which is missing
	_, err := p.fromSource(t.Context(), failed)
	if err == nil {
		t.Fatal("sources are built on Windows")
	}
	for _, part := range []string{"mcp-server, which needs old==1.0, has no wheel", "refused on Windows", "WSL 2"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("no %q in: %v", part, err)
		}
	}
	if text := err.Error(); strings.Contains(text, "install_scripts") {
		t.Errorf("it advises what does not help: %s", text)
	}
	for _, system := range []string{"linux", "darwin"} {
		other := *failed
		if other.system = system; mayBuild(system, "old") != nil || !strings.Contains(other.Error(), "install_scripts = true allows that") {
			t.Errorf("%s: %v", system, &other)
		}
	}
	noPip := &PythonError{What: "x", Installer: "pip", Python: "3.13.1", Output: "No module named pip", system: "windows"}
	if text := noPip.Error(); !strings.Contains(text, "py -m ensurepip") || strings.Contains(text, "uv") {
		t.Errorf("without pip: %s", text)
	}
}

// TestPythonOnWindows tests which files count as a Python on Windows, without starting one, and what the error
// says where there is none.
func TestPythonOnWindows(t *testing.T) {
	line, err := runline.Parse([]string{"uvx", "mcp-server-time"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, path string
		files      []string
		want       []string // parts of the error; nil: there is one
	}{
		{"in PATH", `C:\py`, []string{`C:\py\python.exe`}, nil},
		{"py.exe alone", `C:\Windows`, []string{`C:\Windows\py.exe`}, nil},
		{"the store's", `C:\Users\u\AppData\Local\Microsoft\WindowsApps`, []string{`C:\Users\u\AppData\Local\Microsoft\WindowsApps\python.exe`}, []string{"python.exe was not found in PATH, nor", "winget install Python"}},
		{"a batch file of pyenv-win", `C:\shims`, []string{`C:\shims\python.bat`, `C:\shims\python`}, []string{"python.exe was not found"}},
		{"a relative directory", `py;C:\x`, []string{`py\python.exe`}, []string{"(py is left out: it is relative)"}},
		{"a server may write it", `C:\bad`, []string{`C:\bad\python.exe`, `C:\bad\py.exe`}, []string{`(C:\bad\python.exe is not used: a server may write it)`}},
	} {
		i := &Installer{Host: hostfs.Host{OS: "windows", UID: -1, Home: `C:\Users\u`, Dir: `C:\work`, Environ: []string{"PATH=" + c.path}, Lstat: func(path string) (hostfs.FileInfo, error) {
			if slices.ContainsFunc(c.files, func(f string) bool { return strings.EqualFold(f, path) }) {
				return hostfs.FileInfo{Mode: 0o666}, nil
			}
			return hostfs.FileInfo{}, fs.ErrNotExist
		}, ReadDir: func(string) ([]hostfs.DirEntry, error) { return nil, fs.ErrNotExist }}}
		i.Untrusted = func(file string) string {
			if strings.HasPrefix(file, `C:\bad`) {
				return "a server may write it"
			}
			return ""
		}
		err := i.CanFetch(&line)
		if c.want == nil && err != nil || c.want != nil && err == nil {
			t.Errorf("%s: %v", c.name, err)
		}
		for _, part := range c.want {
			if err != nil && !strings.Contains(err.Error(), part) {
				t.Errorf("%s: no %q in: %v", c.name, part, err)
			}
		}
	}
}

// TestSettingsOnWindows tests where the files of pip and uv are on Windows, in their order.
func TestSettingsOnWindows(t *testing.T) {
	getenv := func(name string) string {
		return map[string]string{"PROGRAMDATA": `C:\ProgramData`, "APPDATA": `C:\Users\u\AppData\Roaming\`}[name]
	}
	none := func(string) string { return "" }
	own := filepath.Join(t.TempDir(), "own.ini")
	testkit.WriteFile(t, own, "")
	for _, c := range []struct {
		name string
		got  []string
		want []string
	}{
		{"pip", pipFilesOfWindows(getenv, `C:\Users\u`, `C:\py\python.exe`, ""), []string{`C:\ProgramData\pip\pip.ini`, `C:\Users\u\pip\pip.ini`, `C:\Users\u\AppData\Roaming\pip\pip.ini`, `C:\py\pip.ini`}},
		{"pip with a file that is not there", pipFilesOfWindows(none, `C:\Users\u`, `C:\py\python.exe`, `D:\none.ini`), []string{`C:\Users\u\pip\pip.ini`, `C:\py\pip.ini`, `D:\none.ini`}},
		{"uv", uvFilesOfWindows(getenv), []string{`C:\Users\u\AppData\Roaming\uv\uv.toml`, `C:\ProgramData\uv\uv.toml`}},
		{"uv without variables", uvFilesOfWindows(none), nil},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, c.got, c.want)
		}
	}
	if got := pipFilesOfWindows(getenv, `C:\Users\u`, `C:\py\python.exe`, own); slices.Contains(got, `C:\Users\u\pip\pip.ini`) || !slices.Contains(got, `C:\py\pip.ini`) {
		t.Errorf("beside the file of PIP_CONFIG_FILE: %q", got)
	}
}

// TestTreeOnWindows tests what becomes of the files that pip has unpacked on Windows: its launchers go, a
// program of the package's own stays, and names that differ in case alone are one file.
func TestTreeOnWindows(t *testing.T) {
	work := t.TempDir()
	var launcher bytes.Buffer
	launcher.WriteString("MZ of a launcher\n#!C:\\py\\python.exe\r\n")
	archive := zip.NewWriter(&launcher)
	if _, err := archive.Create("__main__.py"); err != nil {
		t.Fatal(err)
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(work, "site", "server-1.dist-info")
	if err := errors.Join(os.MkdirAll(dir, 0o700), os.MkdirAll(filepath.Join(work, "site", "bin"), 0o700)); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"METADATA": "Name: server\nVersion: 1\n\n", "WHEEL": "Tag: py3-none-any\n", "RECORD": "server.py,,\n../../bin/server.exe,,\n",
		"entry_points.txt": "[console_scripts]\nserver = server:main\nSERVER = server:other\n", "../bin/server.exe": launcher.String(), "../bin/native.exe": "MZ and no archive", "../bin/archive.exe": strings.Replace(launcher.String(), "__main__.py", "program.dat", 2), "../bin/script": "#!python\n",
	} {
		testkit.WriteFile(t, filepath.Join(dir, name), text)
	}
	tree, err := finishTree("windows", work)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	entries, err := os.ReadDir(filepath.Join(work, "bin"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if want := []string{"archive.exe", "native.exe", "script", "server"}; !slices.Equal(names, want) {
		t.Errorf("the programs are %q, want %q", names, want)
	}
	for words, want := range map[string]string{"uvx server": "server", "uvx --from server native": "native", "uvx --from server native.exe": "native.exe", "uvx --from server none": ""} {
		line, err := runline.Parse(strings.Fields(words))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := tree.program(&line, "server"); got != want || (err != nil) != (want == "") {
			t.Errorf("%s: %q, %v", words, got, err)
		}
	}
}

// TestCaseOfPaths tests that two packages do not write one file under names that differ in case, where a system
// has one file for both. Linux is the control.
func TestCaseOfPaths(t *testing.T) {
	dir := t.TempDir()
	for info, row := range map[string]string{"a-1.dist-info": "Server/run.py,,\n", "b-1.dist-info": "server/run.py,,\n"} {
		if err := os.Mkdir(filepath.Join(dir, info), 0o700); err != nil {
			t.Fatal(err)
		}
		testkit.WriteFile(t, filepath.Join(dir, info, "RECORD"), row)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for system, want := range map[string]bool{"windows": false, "darwin": false, "linux": true} {
		if err := checkPaths(system, root, []string{"a-1.dist-info", "b-1.dist-info"}); (err == nil) != want {
			t.Errorf("%s: %v", system, err)
		}
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
			}, ReadDir: func(string) ([]hostfs.DirEntry, error) { return nil, fs.ErrNotExist }}}
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
