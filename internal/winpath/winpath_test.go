package winpath

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestClean(t *testing.T) {
	for p, want := range map[string]string{
		`c:\Users\u\x.js`: `C:\Users\u\x.js`, `C:/a//b/./c/../d`: `C:\a\b\d`, `C:\`: `C:\`, `C:\..\..\x`: `C:\x`,
		`D:\CONfig\nul1\com10\COM\a.con`: `D:\CONfig\nul1\com10\COM\a.con`, `C:\a~b\~1\longname~12\x~1.html`: `C:\a~b\~1\longname~12\x~1.html`,
		`C:\ü €\.git`: `C:\ü €\.git`,
	} {
		if got, err := Clean(p); got != want || err != nil {
			t.Errorf("%s: %s, %v, want %s", p, got, err, want)
		}
	}
	for p, why := range map[string]string{
		``: "no drive", `x\y`: "no drive", `\Users\u`: "no drive", `/etc`: "no drive", `~/x`: "no drive", `é:\x`: "no drive",
		`C:`: "working directory", `C:x`: "working directory",
		`\\server\share\x`: "another machine", `//server/share`: "another machine",
		`\\?\C:\x`: "goes around", `//?/C:/x`: "goes around", `\\.\PhysicalDrive0`: "goes around", `\??\C:\x`: "goes around",
		`C:\x.txt:hidden`: "stream", `C:\x::$DATA`: "stream", `C:\a:b\c`: "stream",
		`C:\a*`: "no name has", "C:\\a\tb": "no name has", `C:\a"b`: "no name has",
		`C:\a.`: "takes the dots", `C:\a \b`: "takes the dots", `C:\...\b`: "takes the dots",
		`C:\NUL`: "device", `C:\x\con.txt`: "device", `C:\com1`: "device", `C:\LPT².x.y`: "device", `C:\aux .c`: "device", `C:\conin$`: "device",
		`C:\PROGRA~1\x`: "short name", `C:\a~1.ht`: "short name",
	} {
		if got, err := Clean(p); err == nil || !strings.Contains(err.Error(), why) || !strings.Contains(err.Error(), fmt.Sprintf("%q", p)) {
			t.Errorf("%s: %q, %v, want %s", p, got, err, why)
		}
	}
}

// FuzzClean: what is clean stays as it is, has a drive, and no name that is refused.
func FuzzClean(f *testing.F) {
	for _, s := range []string{`C:\a\b`, `c:/../x`, `\\?\C:\`, `C:\NUL `, `C:\a:b`, `C:\. .\x`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, p string) {
		got, err := Clean(p)
		if err != nil {
			return
		}
		if again, err := Clean(got); again != got || err != nil || len(got) < 3 || got[1:3] != `:\` || strings.Contains(got, "/") || strings.Contains(got[2:], ":") || strings.Contains(got+`\`, `\..\`) {
			t.Errorf("%q became %q, and that %q, %v", p, got, again, err)
		}
	})
}

const newShim = "@ECHO off\r\nGOTO start\r\n:find_dp0\r\nSET dp0=%~dp0\r\nEXIT /b\r\n:start\r\nSETLOCAL\r\nCALL :find_dp0\r\n\r\nIF EXIST \"%dp0%\\node.exe\" (\r\n  SET \"_prog=%dp0%\\node.exe\"\r\n) ELSE (\r\n  SET \"_prog=node\"\r\n  SET PATHEXT=%PATHEXT:;.JS;=;%\r\n)\r\n\r\nendLocal & goto #_undefined_# 2>NUL || title %COMSPEC% & \"%_prog%\"  \"%dp0%\\node_modules\\@m\\server\\dist\\index.js\" %*\r\n"

const oldShim = "@IF EXIST \"%~dp0\\node.exe\" (\r\n  \"%~dp0\\node.exe\"  \"%~dp0\\..\\server\\cli.js\" %*\r\n) ELSE (\r\n  @SETLOCAL\r\n  @SET PATHEXT=%PATHEXT:;.JS;=;%\r\n  node  \"%~dp0\\..\\server\\cli.js\" %*\r\n)"

func TestReadShim(t *testing.T) {
	for name, c := range map[string]struct {
		text   string
		script string
		flags  []string
	}{
		"newer":     {newShim, `C:\npm\.bin\node_modules\@m\server\dist\index.js`, nil},
		"older":     {oldShim, `C:\npm\server\cli.js`, nil},
		"line feed": {strings.ReplaceAll(newShim, "\r\n", "\n"), `C:\npm\.bin\node_modules\@m\server\dist\index.js`, nil},
		"BOM":       {"\ufeff" + newShim, `C:\npm\.bin\node_modules\@m\server\dist\index.js`, nil},
		"flags":     {strings.Replace(newShim, `"%_prog%"  "`, `"%_prog%" --no-warnings --max-old-space-size=4096 "`, 1), `C:\npm\.bin\node_modules\@m\server\dist\index.js`, []string{"--no-warnings", "--max-old-space-size=4096"}},
	} {
		s, ok := ReadShim(c.text, `C:\npm\.bin`)
		if !ok || s.Script != c.script || !slices.Equal(s.Flags, c.flags) || s.Beside != `C:\npm\.bin\node.exe` {
			t.Errorf("%s: %+v, %t", name, s, ok)
		}
	}
	for name, text := range map[string]string{
		"empty": "", "another program": strings.Replace(newShim, `"_prog=node"`, `"_prog=python"`, 1),
		"an argument after":    strings.Replace(newShim, " %*", " --x %*", 1),
		"no arguments":         strings.Replace(newShim, " %*", "", 1),
		"a command after":      newShim + "calc\r\n",
		"a variable":           strings.Replace(newShim, `\dist\`, `\%X%\`, 1),
		"another place":        strings.Replace(newShim, `"%dp0%\node_modules`, `"C:\node_modules`, 1),
		"a command among":      strings.Replace(newShim, `"%_prog%"  "`, `"%_prog%" & calc "`, 1),
		"a stream":             strings.Replace(newShim, `index.js`, `index.js:x`, 1),
		"older without a test": strings.Replace(oldShim, "IF EXIST", "IF", 1),
	} {
		if s, ok := ReadShim(text, `C:\npm\.bin`); ok {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

func TestFind(t *testing.T) {
	files := map[string]string{
		`C:\node\node.exe`: "", `C:\node\npx.cmd`: "@call something %*", `C:\npm\server.cmd`: newShim, `C:\npm\server`: "#!/bin/sh", `C:\npm\server.ps1`: "", `C:\b\x.bat`: "", `C:\b\y.ps1`: "", `C:\b\z.js`: "",
		`C:\b\two.exe`: "", `C:\b\two.cmd`: "", `C:\work\own.exe`: "", `C:\b\dot.name.exe`: "",
	}
	f := Files{
		IsFile: func(p string) bool { _, ok := files[p]; return ok },
		Read:   func(p string) (string, error) { return files[p], nil },
	}
	dirs := []string{`C:\npm`, `C:\b`, `C:\node`}
	for command, want := range map[string]string{
		"node": `C:\node\node.exe []`, "node.exe": `C:\node\node.exe []`, "two": `C:\b\two.exe []`, "dot.name": `C:\b\dot.name.exe []`,
		"server": `C:\node\node.exe [C:\npm\node_modules\@m\server\dist\index.js]`, `C:\npm\server.cmd`: `C:\node\node.exe [C:\npm\node_modules\@m\server\dist\index.js]`,
		`c:/b/two`: `C:\b\two.exe []`, `.\own`: `C:\work\own.exe []`, `..\b\two.exe`: `C:\b\two.exe []`,
	} {
		p, err := f.Find(command, `C:\work`, dirs)
		if got := fmt.Sprint(p.File, " ", p.Before); got != want || err != nil {
			t.Errorf("%s: %s, %v, want %s", command, got, err, want)
		}
	}
	for command, want := range map[string]string{
		"npx": "batch file", "x": "batch file", "x.bat": "batch file", "y": "PowerShell", "z.js": "no program of Windows", `\\m\s\x.exe`: "another machine", `C:two.exe`: "working directory", `C:\b\two.exe:s`: "stream", "NUL": "device",
	} {
		if p, err := f.Find(command, `C:\work`, dirs); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v, want %s", command, p, err, want)
		}
	}
	for _, command := range []string{"own", "own.exe", "none", `C:\b\none`, ""} {
		if p, err := f.Find(command, `C:\work`, dirs); !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: %+v, %v", command, p, err)
		}
	}
	delete(files, `C:\node\node.exe`)
	if p, err := f.Find("server", `C:\work`, dirs); err == nil || !strings.Contains(err.Error(), "no node.exe") {
		t.Errorf("without node: %+v, %v", p, err)
	}
	files[`C:\npm\node.exe`] = ""
	if p, err := f.Find("server", `C:\work`, nil); err == nil {
		t.Errorf("a name without PATH: %+v", p)
	}
	if p, err := f.Find(`C:\npm\server`, `C:\work`, nil); err != nil || p.File != `C:\npm\node.exe` {
		t.Errorf("node beside the batch file: %+v, %v", p, err)
	}
}
