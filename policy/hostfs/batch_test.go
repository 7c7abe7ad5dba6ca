package hostfs

import (
	"errors"
	"strings"
	"testing"
)

// TestBatchFiles tests that no way of writing a command starts a batch file or a script, and that each
// refusal says what to write instead. node.exe is the control.
func TestBatchFiles(t *testing.T) {
	files := map[string]string{
		`C:\b\x.cmd`: "@calc %*", `C:\b\X.CMD`: "@calc %*", `C:\b\both.cmd`: "@calc %*", `C:\c\both.exe`: "", `C:\b\y.bat`: "", `C:\b\z.ps1`: "", `C:\b\s.js`: "",
		`C:\n\node.exe`: "",
	}
	isFile := func(p string) bool { _, ok := files[p]; return ok }
	dirs := []string{`C:\b`, `C:\c`, `C:\n`}
	const program, name, without = "write the program that it starts", "write the name of one file", "write the name without them"
	for command, want := range map[string]string{
		"x": program, "x.cmd": program, "X.CMD": program, `C:\b\x.cmd`: program, `c:/b/x.cmd`: program, `..\b\x.cmd`: program,
		"x.cmd.": without, "x.cmd ": without, "x.cmd. .": without, `C:\b\x.cmd.`: without, `"x.cmd"`: name, `"C:\b\x.cmd"`: "begin it with a drive",
		"x.cmd::$DATA": "begin it with a drive", `C:\b\x.cmd:s`: "write the name without the colon",
		"both": program, "y": program, "y.bat": program, "z": program, "z.ps1": program, "s.js": "write the interpreter before it",
	} {
		p, err := FindWindows(command, `C:\work`, dirs, isFile)
		if err == nil || errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %s, %v, want %s", command, p, err, want)
		}
	}
	if p, err := FindWindows("node", `C:\work`, dirs, isFile); err != nil || p != `C:\n\node.exe` {
		t.Errorf("%+v, %v", p, err)
	}
}
