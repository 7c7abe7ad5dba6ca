package diagnostics

import (
	"strings"
	"testing"
)

// TestAbsent tests that a relative path that is nowhere comes with the directory in which it was looked for.
func TestAbsent(t *testing.T) {
	for path, want := range map[string]string{
		"/home/u/work/src/none.js": `"src/none.js" in "/home/u/work" does not exist on this host either`,
		"/home/u/work/../none.js":  "",
	} {
		ev := knownEvidence("")
		ev.Stage, ev.Tool, ev.Method, ev.Exit = StageStartup, "", "", &Exit{Code: 1}
		ev.Stderr = []string{"Error: Cannot find module '" + path + "'"}
		if d := Diagnose(ev); want != "" && d.Cause != want || want == "" && strings.Contains(d.Cause, " in \"") {
			t.Errorf("%s: %q, want %q", path, d.Cause, want)
		}
	}
}
