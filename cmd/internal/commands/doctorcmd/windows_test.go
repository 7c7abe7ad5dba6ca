package doctorcmd

import (
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// TestNPMOnWindows tests where npm is looked for on Windows, and what is advised there.
func TestNPMOnWindows(t *testing.T) {
	const node, script = `C:\nodejs\node.exe`, `C:\nodejs\node_modules\npm\bin\npm-cli.js`
	look := func(system string, files ...string) (tool, []finding) {
		i := &installation{host: hostfs.Host{OS: system, UID: -1, Environ: []string{`PATH=C:\nodejs`}, Lstat: func(p string) (hostfs.FileInfo, error) {
			if !slices.Contains(files, p) {
				return hostfs.FileInfo{}, fs.ErrNotExist
			}
			return hostfs.FileInfo{Mode: 0o666}, nil
		}, ReadHead: func(p string, _ int) ([]byte, error) {
			if p != `C:\nodejs\node_modules\npm\package.json` {
				return nil, fs.ErrNotExist
			}
			return []byte(`{"name": "npm", "version": "10.9.2"}`), nil
		}}}
		i.tools = []tool{i.lookNPM([]string{"s"})}
		return i.tools[0], i.checkTools()
	}
	if got, _ := look("windows", node, script); got.Path != script || got.Version != "10.9.2" {
		t.Errorf("npm: %+v", got)
	}
	got, said := look("windows", node)
	if got.Path != "" || len(said) != 1 || !strings.Contains(said[0].Fix, "winget install") || strings.Contains(said[0].Fix, "distribution") {
		t.Errorf("without npm: %+v, %+v", got, said)
	}
	if _, said := look("linux", node, script); len(said) != 1 || !strings.Contains(said[0].Fix, "distribution") {
		t.Errorf("the control: %+v", said)
	}
}

// TestPipOnWindows tests where the pip of a Python is looked for on Windows, and what is advised there.
func TestPipOnWindows(t *testing.T) {
	const dir = `C:\py\Lib\site-packages\pip`
	i := &installation{host: hostfs.Host{OS: "windows", UID: -1, Lstat: func(p string) (hostfs.FileInfo, error) {
		if p != dir {
			return hostfs.FileInfo{}, fs.ErrNotExist
		}
		return hostfs.FileInfo{Mode: fs.ModeDir | 0o777}, nil
	}, ReadHead: func(string, int) ([]byte, error) { return []byte("__version__ = \"24.3.1\"\n"), nil }}}
	look := func(python tool) (tool, []finding) {
		i.tools = []tool{i.lookPythonInstaller(t.Context(), python, []string{"s"}, nil)}
		return i.tools[0], i.checkTools()
	}
	if got, said := look(tool{Path: `C:\py\python.exe`, Version: "3.12.4"}); got.Path != dir || got.Version != "24.3.1" || len(said) > 0 {
		t.Errorf("pip: %+v, %+v", got, said)
	}
	got, said := look(tool{Path: `C:\other\python.exe`, Version: "3.12.4"})
	if got.Path != "" || len(said) != 1 || !strings.Contains(said[0].What, `no pip for C:\other\python.exe`) || !strings.Contains(said[0].Fix, "py -m ensurepip") {
		t.Errorf("without pip: %+v, %+v", got, said)
	}
	if why, fix := whatPipIsFor("linux"); !strings.Contains(why+fix, "install uv") {
		t.Errorf("the control: %s, %s", why, fix)
	}
}
