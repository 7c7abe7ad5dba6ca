package runtime

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// windowsHost has the files of a Windows machine, by their paths.
func windowsHost(environ []string, files ...string) *hostfs.Host {
	return &hostfs.Host{
		OS: "windows", UID: -1, Environ: environ, Home: `C:\Users\u`, Dir: `C:\project`,
		Account: func(path string) error {
			if strings.HasPrefix(path, `C:\others\`) {
				return errors.New(path + " belongs to another account")
			}
			return nil
		},
		Lstat: func(path string) (hostfs.FileInfo, error) {
			if slices.ContainsFunc(files, func(f string) bool { return strings.EqualFold(f, path) }) {
				return hostfs.FileInfo{Mode: 0o666}, nil
			}
			return hostfs.FileInfo{}, fs.ErrNotExist
		},
		ReadDir: func(dir string) (out []hostfs.DirEntry, err error) {
			for _, f := range files {
				rest, below := strings.CutPrefix(f, dir+`\`)
				name, _, deeper := strings.Cut(rest, `\`)
				if below && deeper && !slices.ContainsFunc(out, func(e hostfs.DirEntry) bool { return e.Name == name }) {
					out = append(out, hostfs.DirEntry{Name: name})
				}
			}
			return out, nil
		},
	}
}

// TestFindOnWindows has tables of machines: what is found there, in which order, and what is refused.
func TestFindOnWindows(t *testing.T) {
	const local, roaming = `LOCALAPPDATA=C:\Users\u\AppData\Local`, `APPDATA=C:\Users\u\AppData\Roaming`
	for _, c := range []struct {
		name     string
		lang     Language
		environ  []string
		files    []string
		launcher string
		want     string // PATH VERSION SOURCES, with a star for the default
		refused  string
	}{
		{"PATH", Node, []string{`Path=C:\Program Files\nodejs\;"D:\b c";C:\PROGRAM FILES\nodejs`}, []string{`C:\Program Files\nodejs\node.exe`, `D:\b c\node.exe`}, "",
			`*C:\Program Files\nodejs\node.exe 9.9.9 PATH; D:\b c\node.exe 9.9.9 PATH`, ""},
		{"no working directory, no machine, no way back", Node, []string{`PATH=.;;node;C:;C:x;\\host\share;C:\project\..\x;/usr/bin`},
			[]string{`C:\project\node.exe`, `.\node.exe`, `\node.exe`, `node\node.exe`, `\\host\share\node.exe`, `C:\project\..\x\node.exe`, `C:x\node.exe`}, "", "", ""},
		{"a virtual environment", Python, []string{`PATH=C:\x\.venv\SCRIPTS;C:\tools\Scripts`}, []string{`C:\x\.venv\pyvenv.cfg`, `C:\x\.venv\SCRIPTS\python.exe`, `C:\tools\Scripts\python.exe`}, "",
			`*C:\tools\Scripts\python.exe 9.9.9 PATH`, `C:\x\.venv\SCRIPTS\python.exe: it is a stand-in of a virtual environment`},
		{"no batch file", Node, []string{`PATH=C:\npm`, "PATHEXT=.CMD;.EXE"}, []string{`C:\npm\node.cmd`, `C:\npm\node`, `C:\npm\node.bat`, `C:\npm\node.com`}, "", "", ""},
		{"nvm-windows", Node, []string{`nvm_home=D:/nvm/`}, []string{`D:\nvm\v18.2.0\node.exe`, `D:\nvm\v20.11.1\node.exe`, `D:\nvm\nvm.exe`, `C:\Users\u\AppData\Roaming\nvm\v1.1.1\node.exe`}, "",
			`D:\nvm\v20.11.1\node.exe 20.11.1 nvm-windows; D:\nvm\v18.2.0\node.exe 18.2.0 nvm-windows`, ""},
		{"fnm and volta", Node, []string{roaming, local, `PATH=C:\Users\u\AppData\Local\Volta\bin;C:\Program Files\Volta`},
			[]string{`C:\Users\u\AppData\Roaming\fnm\node-versions\v22.1.0\installation\node.exe`, `C:\Users\u\AppData\Local\Volta\tools\image\node\21.0.0\node.exe`, `C:\Program Files\Volta\node.exe`, `C:\Program Files\Volta\volta.exe`}, "",
			`C:\Users\u\AppData\Roaming\fnm\node-versions\v22.1.0\installation\node.exe 22.1.0 fnm; C:\Users\u\AppData\Local\Volta\tools\image\node\21.0.0\node.exe 21.0.0 volta`, `C:\Program Files\Volta\node.exe: it is a stand-in of volta`},
		{"python of the installer, not of the store", Python, []string{local, `PROGRAMFILES=C:\Program Files`, `PATH=C:\Users\u\AppData\Local\Microsoft\WindowsApps;C:\Windows`},
			[]string{`C:\Users\u\AppData\Local\Microsoft\WindowsApps\python.exe`, `C:\Users\u\AppData\Local\Programs\Python\Python312\python.exe`, `C:\Program Files\Other\python.exe`, `C:\Program Files\Python311\python.exe`, `C:\Windows\py.exe`, `C:\more\python.exe`}, "-3 C:\\more\\python.exe",
			`C:\Users\u\AppData\Local\Programs\Python\Python312\python.exe 9.9.9 python.org; C:\Program Files\Python311\python.exe 9.9.9 python.org`, `WindowsApps\python.exe: it is a stand-in that opens`},
		{"python of uv and pyenv-win", Python, []string{roaming, `USERPROFILE=C:\Users\u`}, []string{`C:\Users\u\AppData\Roaming\uv\python\cpython-3.13.1-windows-x86_64-none\python.exe`, `C:\Users\u\.pyenv\pyenv-win\versions\3.11.4\python.exe`}, "",
			`C:\Users\u\.pyenv\pyenv-win\versions\3.11.4\python.exe 3.11.4 pyenv-win; C:\Users\u\AppData\Roaming\uv\python\cpython-3.13.1-windows-x86_64-none\python.exe 3.13.1 uv`, ""},
		{"another language", Python, []string{roaming}, []string{`C:\Users\u\AppData\Roaming\fnm\node-versions\v22.1.0\installation\node.exe`}, "", "", ""},
		{"of another account", Node, []string{`PATH=C:\others\bin;C:\mine`}, []string{`C:\others\bin\node.exe`, `C:\mine\node.exe`}, "", `*C:\mine\node.exe 9.9.9 PATH`, `C:\others\bin\node.exe: C:\others\bin\node.exe belongs to another account`},
		{"py.exe", Python, []string{`PATH=C:\Windows`}, []string{`C:\Windows\py.exe`, `D:\P y\python.exe`, `C:\evil\tool.exe`}, " -V:3.12 *        D:\\P y\\python.exe\r\n -V:3.9 C:\\gone\\python.exe\r\n -V:x C:\\evil\\tool.exe\r\n",
			`D:\P y\python.exe 9.9.9 py`, `C:\evil\tool.exe: its name is not that of an interpreter`},
		{"py.exe fails", Python, []string{`PATH=C:\Windows`}, []string{`C:\Windows\py.exe`}, "error", "", `C:\Windows\py.exe: it does not tell`},
	} {
		if c.name == "of another account" && filepath.Separator != '\\' {
			continue // which directory a file is in, only the functions of Windows say
		}
		t.Run(c.name, func(t *testing.T) {
			f := Finder{
				Host:    windowsHost(c.environ, c.files...),
				Version: func(context.Context, string) (string, error) { return "v9.9.9", nil },
				Launcher: func(_ context.Context, py string) (string, error) {
					if c.launcher == "error" {
						return "", errors.New("no")
					}
					return c.launcher, nil
				},
			}
			found, err := f.Find(t.Context(), c.lang)
			if err != nil {
				t.Fatal(err)
			}
			var got, refused []string
			for _, i := range found.Interpreters {
				star := ""
				if i.Default {
					star = "*"
				}
				got = append(got, star+i.Path+" "+i.Version+" "+strings.Join(i.Sources, ","))
			}
			for _, r := range found.Refused {
				refused = append(refused, r.Path+": "+r.Reason)
			}
			if strings.Join(got, "; ") != c.want {
				t.Errorf("found:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.ReplaceAll(c.want, "; ", "\n"))
			}
			if all := strings.Join(refused, "; "); (all == "") != (c.refused == "") || !strings.Contains(all, c.refused) {
				t.Errorf("refused: %s, want %s", all, c.refused)
			}
		})
	}
}

// TestLauncherPaths reads what the launchers of several years write.
func TestLauncherPaths(t *testing.T) {
	for text, want := range map[string]string{
		" -V:3.12 *        C:\\Users\\u\\Python312\\python.exe\r\n -V:3.11          C:\\Program Files\\Python311\\python.exe\r\n": `C:\Users\u\Python312\python.exe C:\Program Files\Python311\python.exe`,
		"Installed Pythons found by py.exe Launcher for Windows\n -3.8-64\tC:\\Python38\\python.exe *\n":                          `C:\Python38\python.exe`,
		" -3.7-32 \tC:\\Python37\\python.exe\n":                                                `C:\Python37\python.exe`,
		" -V:x \\\\host\\share\\python.exe\n -V:y C:\\a\\..\\python.exe\n -V:z C:python.exe\n": "",
		"No installed Pythons found!":                                                          "",
		"C:\\no\\version\\python.exe":                                                          "",
	} {
		if got := strings.Join(launcherPaths(text), " "); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestUntrustedOnWindows: neither an interpreter nor py.exe is asked that a server may write.
func TestUntrustedOnWindows(t *testing.T) {
	f := Finder{
		Host: windowsHost([]string{`PATH=C:\bad;C:\good`}, `C:\bad\python.exe`, `C:\bad\py.exe`, `C:\good\py.exe`),
		Untrusted: func(file string) string {
			return map[bool]string{true: "the server x may write it"}[strings.HasPrefix(file, `C:\bad\`)]
		},
		Version: func(_ context.Context, file string) (string, error) {
			t.Error("asked: " + file)
			return "", nil
		},
		Launcher: func(_ context.Context, py string) (string, error) {
			if py != `C:\good\py.exe` {
				t.Error("asked: " + py)
			}
			return "", nil
		},
	}
	found, err := f.Find(t.Context(), Python)
	if err != nil || len(found.Interpreters) > 0 || len(found.Refused) != 2 {
		t.Errorf("%+v, %v", found, err)
	}
}

// TestNPMOfWindows tests which npm installs packages, and that no batch file and no file of another is taken.
func TestNPMOfWindows(t *testing.T) {
	const npm = `\node_modules\npm\bin\npm-cli.js`
	distrusts := func(dir string) func(string) string {
		return func(file string) string {
			if dir != "" && strings.HasPrefix(file, dir) {
				return "a server may write it"
			}
			return ""
		}
	}
	for name, c := range map[string]struct {
		path, distrusted   string
		files              []string
		node, dir, refused string
	}{
		"beside node.exe":              {`C:\nodejs`, "", []string{`C:\nodejs\node.exe`, `C:\nodejs` + npm}, `C:\nodejs\node.exe`, `C:\nodejs\node_modules\npm`, ""},
		"the first npm.cmd of PATH":    {`C:\own;C:\nodejs`, "", []string{`C:\nodejs\node.exe`, `C:\nodejs` + npm, `C:\nodejs\npm.cmd`, `C:\own\npm.cmd`, `C:\own` + npm}, `C:\nodejs\node.exe`, `C:\own\node_modules\npm`, ""},
		"npm.cmd without the script":   {`C:\own;C:\nodejs`, "", []string{`C:\own\npm.cmd`, `C:\nodejs\node.exe`, `C:\nodejs` + npm}, `C:\nodejs\node.exe`, `C:\nodejs\node_modules\npm`, ""},
		"npm without node":             {`C:\own`, "", []string{`C:\own\npm.cmd`, `C:\own` + npm}, "", "", ""},
		"node without npm":             {`C:\nodejs`, "", []string{`C:\nodejs\node.exe`}, `C:\nodejs\node.exe`, "", ""},
		"the working directory":        {`.;;C:nodejs`, "", []string{`C:\project\node.exe`, `C:\project` + npm, `C:nodejs\node.exe`}, "", "", ""},
		"a directory that is not sure": {`C:\shared;C:\nodejs`, `C:\shared`, []string{`C:\shared\node.exe`, `C:\shared\npm.cmd`, `C:\shared` + npm, `C:\nodejs\node.exe`, `C:\nodejs` + npm}, `C:\nodejs\node.exe`, `C:\nodejs\node_modules\npm`, `C:\shared\node.exe is not used: a server may write it`},
		"a script that is not sure":    {`C:\nodejs`, `C:\nodejs\node_modules`, []string{`C:\nodejs\node.exe`, `C:\nodejs` + npm}, `C:\nodejs\node.exe`, "", `C:\nodejs` + npm + ` is not used: a server may write it`},
	} {
		got := NPMOfWindows(windowsHost([]string{"PATH=" + c.path}, c.files...), distrusts(c.distrusted))
		if got.Node != c.node || got.Dir != c.dir || got.Refused != c.refused {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestVersionOnWindows tests that the header file beside python.exe tells its version, and no other file does.
func TestVersionOnWindows(t *testing.T) {
	h := windowsHost(nil, `C:\py\python.exe`, `C:\py\include\patchlevel.h`, `C:\venv\Scripts\python.exe`, `C:\venv\include\patchlevel.h`)
	h.ReadHead = func(string, int) ([]byte, error) { return []byte("#define PY_VERSION      \"3.12.4\"\n"), nil }
	for file, want := range map[string]string{`C:\py\python.exe`: "3.12.4", `c:\PY\Python.exe`: "3.12.4", `C:\py\pythonw.exe`: "", `C:\venv\Scripts\python.exe`: "", `C:\py\node.exe`: ""} {
		if got := HeaderVersion(h, file); got != want {
			t.Errorf("%s: %q, want %q", file, got, want)
		}
	}
	h.OS = "linux"
	if got := HeaderVersion(h, `C:\py\python.exe`); got != "" {
		t.Errorf("on Linux: %q", got)
	}
}

// TestCandidateOnWindows tests which file could be an interpreter, before one is asked: PATH's, then those of
// installers, then py.exe.
func TestCandidateOnWindows(t *testing.T) {
	const installed, uvs = `C:\Users\u\AppData\Local\Programs\Python\Python312\python.exe`, `C:\Users\u\AppData\Roaming\uv\python\cpython-3.13.1-windows-x86_64-none\python.exe`
	environ := []string{`PATH=C:\Windows;C:\py`, `LOCALAPPDATA=C:\Users\u\AppData\Local`, `APPDATA=C:\Users\u\AppData\Roaming`}
	all := []string{`C:\py\python.exe`, installed, uvs, `C:\Windows\py.exe`}
	for i, want := range append(all, "") {
		if got, refused := CandidateOnWindows(windowsHost(environ, all[i:]...), nil, Python); got != want || refused != "" {
			t.Errorf("of %q: %q, %q", all[i:], got, refused)
		}
	}
	if got, _ := CandidateOnWindows(windowsHost(environ, `C:\Windows\py.exe`), nil, Node); got != "" {
		t.Errorf("for node: %q", got)
	}
	bad := func(string) string { return "a server may write it" }
	if got, refused := CandidateOnWindows(windowsHost(environ, all...), bad, Python); got != "" || refused != `C:\py\python.exe is not used: a server may write it` {
		t.Errorf("%q, %q", got, refused)
	}
}
