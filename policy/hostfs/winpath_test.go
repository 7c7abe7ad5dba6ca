package hostfs

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestClean(t *testing.T) {
	for p, want := range map[string]string{
		`c:\Users\u\x.js`: `C:\Users\u\x.js`, `C:/a//b/./c/../d`: `C:\a\b\d`, `C:\`: `C:\`, `C:\..\..\x`: `C:\x`,
		`D:\CONfig\nul1\com10\COM\a.con`: `D:\CONfig\nul1\com10\COM\a.con`, `C:\a~b\~1\longname~12\x~1.html`: `C:\a~b\~1\longname~12\x~1.html`,
		`C:\ü €\.git`: `C:\ü €\.git`,
	} {
		if got, err := CleanWindows(p); got != want || err != nil {
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
		if got, err := CleanWindows(p); err == nil || !strings.Contains(err.Error(), why) || !strings.Contains(err.Error(), fmt.Sprintf("%q", p)) {
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
		got, err := CleanWindows(p)
		if err != nil {
			return
		}
		if again, err := CleanWindows(got); again != got || err != nil || len(got) < 3 || got[1:3] != `:\` || strings.Contains(got, "/") || strings.Contains(got[2:], ":") || strings.Contains(got+`\`, `\..\`) {
			t.Errorf("%q became %q, and that %q, %v", p, got, again, err)
		}
	})
}

func TestFind(t *testing.T) {
	files := map[string]string{
		`C:\node\node.exe`: "", `C:\node\npx.cmd`: "@call something %*", `C:\b\x.bat`: "", `C:\b\y.ps1`: "", `C:\b\z.js`: "",
		`C:\b\two.exe`: "", `C:\b\two.cmd`: "", `C:\work\own.exe`: "", `C:\b\dot.name.exe`: "",
	}
	isFile := func(p string) bool { _, ok := files[p]; return ok }
	dirs := []string{`C:\npm`, `C:\b`, `C:\node`}
	for command, want := range map[string]string{
		"node": `C:\node\node.exe`, "node.exe": `C:\node\node.exe`, "two": `C:\b\two.exe`, "dot.name": `C:\b\dot.name.exe`,
		`c:/b/two`: `C:\b\two.exe`, `.\own`: `C:\work\own.exe`, `..\b\two.exe`: `C:\b\two.exe`,
	} {
		if got, err := FindWindows(command, `C:\work`, dirs, isFile); got != want || err != nil {
			t.Errorf("%s: %s, %v, want %s", command, got, err, want)
		}
	}
	for command, want := range map[string]string{
		"npx": "batch file", "x": "batch file", "x.bat": "batch file", "y": "PowerShell", "z.js": "no program of Windows", `\\m\s\x.exe`: "another machine", `C:two.exe`: "working directory", `C:\b\two.exe:s`: "stream", "NUL": "device",
	} {
		if p, err := FindWindows(command, `C:\work`, dirs, isFile); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v, want %s", command, p, err, want)
		}
	}
	for _, command := range []string{"own", "own.exe", "none", `C:\b\none`, ""} {
		if p, err := FindWindows(command, `C:\work`, dirs, isFile); !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: %+v, %v", command, p, err)
		}
	}
}
