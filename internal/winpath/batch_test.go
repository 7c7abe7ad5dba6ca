package winpath

import (
	"errors"
	"strings"
	"testing"
)

// TestBatchFiles tests that no way of writing a command starts a batch file or a script, and that each
// refusal says what to write instead. node.exe and a shim of npm are the controls.
func TestBatchFiles(t *testing.T) {
	files := map[string]string{
		`C:\b\x.cmd`: "@calc %*", `C:\b\X.CMD`: "@calc %*", `C:\b\both.cmd`: "@calc %*", `C:\c\both.exe`: "", `C:\b\y.bat`: "", `C:\b\z.ps1`: "", `C:\b\s.js`: "",
		`C:\b\again.cmd`: strings.ReplaceAll(newShim, `"%_prog%"`, `"%dp0%\x.cmd"`), `C:\b\server.cmd`: newShim, `C:\n\node.exe`: "",
	}
	f := Files{
		IsFile: func(p string) bool { _, ok := files[p]; return ok },
		Read:   func(p string) (string, error) { return files[p], nil },
	}
	dirs := []string{`C:\b`, `C:\c`, `C:\n`}
	const program, name, without = "write the program that it starts", "write the name of one file", "write the name without them"
	for command, want := range map[string]string{
		"x": program, "x.cmd": program, "X.CMD": program, `C:\b\x.cmd`: program, `c:/b/x.cmd`: program, `..\b\x.cmd`: program,
		"x.cmd.": without, "x.cmd ": without, "x.cmd. .": without, `C:\b\x.cmd.`: without, `"x.cmd"`: name, `"C:\b\x.cmd"`: "begin it with a drive",
		"x.cmd::$DATA": "begin it with a drive", `C:\b\x.cmd:s`: "write the name without the colon",
		"both": program, "again": program, "again.cmd": program, "y": program, "y.bat": program, "z": program, "z.ps1": program, "s.js": "write the interpreter before it",
	} {
		p, err := f.Find(command, `C:\work`, dirs)
		if err == nil || errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v, want %s", command, p, err, want)
		}
	}
	for _, command := range []string{"node", "server", "server.cmd"} {
		if p, err := f.Find(command, `C:\work`, dirs); err != nil || p.File != `C:\n\node.exe` {
			t.Errorf("%q: %+v, %v", command, p, err)
		}
	}
}
