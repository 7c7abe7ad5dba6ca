package installed

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/packages/lockfile"
	"github.com/mcp-jail/mcp-jail/packages/npm"
	"github.com/mcp-jail/mcp-jail/packages/python"
	"github.com/mcp-jail/mcp-jail/packages/runline"
	"github.com/mcp-jail/mcp-jail/packages/runtime"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// TestInterpreterOfWindows has tables of machines: which interpreter a program is started with, and which are
// asked for their version before that.
func TestInterpreterOfWindows(t *testing.T) {
	const node, other, volta = `C:\nodejs\node.exe`, `D:\b c\node.exe`, `C:\Program Files\Volta\node.exe`
	const nvm = `C:\nvm\v18.2.0\node.exe`
	files := []string{node, other, volta, `C:\Program Files\Volta\volta.exe`, `C:\shim\node`, `C:\shim\node.cmd`, nvm, `C:\python\python.exe`, `C:\shim\python3`}
	for _, c := range []struct {
		name, path string
		lang       runtime.Language
		rng        string
		known      map[string]string // versions that are remembered
		bad        string            // a directory that a server may write
		want, not  string            // the interpreter; a part of what says which is not used
		asked      string
	}{
		{"any version", `C:\shim;C:\nodejs`, runtime.Node, "", nil, "", node, "", ""},
		{"a remembered one", `C:\nodejs`, runtime.Node, ">=20", map[string]string{node: "22.1.0"}, "", node, "", ""},
		{"one that is asked", `C:\nodejs`, runtime.Node, ">=20", nil, "", node, "", node},
		{"the stand-in of a manager", `C:\Program Files\Volta;D:\b c`, runtime.Node, "", nil, "", other, "", ""},
		{"one of a manager", `C:\shim`, runtime.Node, "", nil, "", nvm, "", ""},
		{"too old in PATH", `C:\nodejs`, runtime.Node, "^18", map[string]string{node: "22.1.0"}, "", nvm, "", ""},
		{"one that a server may write", `C:\nodejs;D:\b c`, runtime.Node, "", nil, `C:\nodejs`, other, node + " is not used: a server may", ""},
		{"only one that a server may write", `C:\nodejs`, runtime.Node, ">=20", map[string]string{node: "22.1.0"}, `C:\`, "", node + " is not used: a server may", ""},
		{"the working directory", `.;;C:nodejs`, runtime.Node, "^30", nil, "", "", "", ""},
		{"Python", `C:\shim;C:\python`, runtime.Python, ">=3.10", map[string]string{`C:\python\python.exe`: "3.12.1"}, "", `C:\python\python.exe`, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			host := hostOfWindows(files, "PATH="+c.path, `NVM_HOME=C:\nvm`)
			var asked []string
			versions := &versions{host: host, known: map[string]version{}, stamp: func(file string) string { return "stamp of " + file }}
			versions.run = func(_ context.Context, _ *hostfs.Host, _ []policy.Axis, file string) (string, error) {
				asked = append(asked, file)
				return "v22.1.0", nil
			}
			for file, v := range c.known {
				versions.known[file] = version{Version: v, Stamp: "stamp of " + file}
			}
			f := Finder{Host: host, Untrusted: func(file string) string {
				if c.bad != "" && strings.HasPrefix(file, c.bad) {
					return "a server may write it"
				}
				return ""
			}}
			fits := npm.EngineFits
			if c.lang == runtime.Python {
				fits = runtime.PythonFits
			}
			var p Program
			got, err := f.interpreterOf(t.Context(), versions, &p, c.lang, c.rng, fits)
			var missing *runtime.MissingError
			if got != c.want || (err != nil) != (c.want == "") || err != nil && !errors.As(err, &missing) {
				t.Errorf("%q, %v; want %q", got, err, c.want)
			}
			if (p.NotUsed == "") != (c.not == "") || !strings.HasPrefix(p.NotUsed, c.not) || strings.Join(asked, " ") != c.asked {
				t.Errorf("not used: %q, asked: %q", p.NotUsed, asked)
			}
		})
	}
}

// TestRememberedOfWindows: what is not known to be the same file has no remembered version.
func TestRememberedOfWindows(t *testing.T) {
	const node = `C:\nodejs\node.exe`
	host := hostOfWindows([]string{node}, `Path=C:\nodejs`)
	for stamp, want := range map[string]string{"1": "22.1.0", "2": "", "": ""} {
		v := &versions{host: host, known: map[string]version{node: {Version: "22.1.0", Stamp: "1"}}, stamp: func(string) string { return stamp }}
		if named, file, got, _ := v.locate(runtime.Node, nil); named != node || file != node || got != want {
			t.Errorf("stamp %q: %q, %q, %q", stamp, named, file, got)
		}
	}
	v := &versions{host: host, known: map[string]version{node: {Version: "22.1.0"}}, stamp: func(string) string { return "" }}
	if _, _, got, _ := v.locate(runtime.Node, nil); got != "" {
		t.Errorf("a file that cannot be looked at has %q", got)
	}
}

func hostOfWindows(files []string, environ ...string) *hostfs.Host {
	return &hostfs.Host{
		OS: "windows", UID: -1, Environ: environ, Dir: `C:\project`,
		ReadHead: func(string, int) ([]byte, error) { return nil, fs.ErrNotExist },
		Lstat: func(path string) (hostfs.FileInfo, error) {
			if slices.ContainsFunc(files, func(f string) bool { return strings.EqualFold(f, path) }) {
				return hostfs.FileInfo{Mode: 0o666}, nil
			}
			return hostfs.FileInfo{}, fs.ErrNotExist
		},
		ReadDir: func(dir string) (out []hostfs.DirEntry, err error) {
			for _, f := range files {
				rest, below := strings.CutPrefix(f, dir+`\`)
				if name, _, deeper := strings.Cut(rest, `\`); below && deeper && !slices.ContainsFunc(out, func(e hostfs.DirEntry) bool { return e.Name == name }) {
					out = append(out, hostfs.DirEntry{Name: name})
				}
			}
			return out, nil
		},
	}
}

// TestPythonProgram: a program of a tree is a starter of mcp-jail's own, which Python runs, or a program of a
// package: on Windows that has .exe at its end.
func TestPythonProgram(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"server": "#!/usr/bin/env python3\n", "tool.exe": "MZ", "both": "#!/usr/bin/env python3\n", "both.exe": "MZ"} {
		if err := os.MkdirAll(filepath.Join(dir, "bin"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "bin", name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	const interpreter = `C:\python\python.exe`
	for _, c := range []struct{ system, program, want string }{
		{"windows", "server", interpreter + " -s -B bin/server"}, {"windows", "tool", "bin/tool.exe"}, {"windows", "both", interpreter + " -s -B bin/both"},
		{"windows", "none", ""}, {"windows", "tool.exe", "bin/tool.exe"}, {"linux", "tool", ""}, {"darwin", "tool", ""},
	} {
		host := hostOfWindows([]string{interpreter}, `PATH=C:\python`)
		host.OS = c.system
		p := &Program{Dir: dir, Entry: &lockfile.Entry{Name: "pkg"}}
		f := Finder{Host: host}
		versions := &versions{host: host, known: map[string]version{interpreter: {Version: "3.12.1", Stamp: "1"}}, stamp: func(string) string { return "1" }}
		err := f.pythonOf(t.Context(), versions, p, &runline.Line{Program: c.program})
		got := strings.Join(append([]string{p.Command}, p.Arguments...), " ")
		got = filepath.ToSlash(strings.ReplaceAll(got, dir+string(filepath.Separator), ""))
		var none *python.ProgramError
		if c.want == "" && !errors.As(err, &none) || c.want != "" && (err != nil || got != filepath.ToSlash(c.want)) {
			t.Errorf("%s, %s: %q, %v", c.system, c.program, got, err)
		}
	}
}
