package diagnostics

import (
	"fmt"
	"strings"
	"testing"
)

// trace returns n frames of Java.
func trace(n int) (lines []string) {
	for i := range n {
		lines = append(lines, fmt.Sprintf("\tat org.example.Frame%d.run(Frame.java:%d)", i, i))
	}
	return lines
}

// TestCauseAboveTrace: the line with the cause is found however many lines follow, and is shown.
func TestCauseAboveTrace(t *testing.T) {
	const cause = "java.nio.file.NoSuchFileException: /home/u/notes/a.md"
	for _, n := range []int{0, 19, 25, 45, 900} {
		ev := evidence("")
		ev.Stage, ev.Exit = StageStartup, &Exit{Code: 1}
		ev.Stderr = append([]string{"starting", "Exception in thread \"main\" " + cause}, trace(n)...)
		d := Diagnose(ev)
		if d.Attribution != Likely || d.Hints[0].Target != "/home/u/notes/a.md" {
			t.Errorf("%d frames: %s", n, d.Text())
		}
		if len(d.Stderr) > 20 || !strings.Contains(d.LastError(), cause) || !strings.Contains(told(d), cause) {
			t.Errorf("%d frames: %d lines are shown, and %q", n, len(d.Stderr), d.LastError())
		}
		ev.Stderr[1] = "Exception in thread \"main\" java.lang.IllegalStateException: no mode is configured"
		if d := Diagnose(ev); d.Attribution != None || !strings.Contains(d.Message(), "no mode is configured") {
			t.Errorf("%d frames: %s", n, d.Message())
		}
	}
}

// TestScriptsAboveList: the missing part of a package is known above a long list of places.
func TestScriptsAboveList(t *testing.T) {
	const command = "mcp-jail install --install-scripts x"
	ev := evidence("")
	ev.Stage, ev.Exit, ev.InstallScripts = StageStartup, &Exit{Code: 1}, command
	ev.Stderr = []string{"Error: Could not locate the bindings file. Tried:"}
	for i := range 200 {
		ev.Stderr = append(ev.Stderr, fmt.Sprintf(" → /s/build/%d/x", i))
	}
	ev.Stderr = append(ev.Stderr, "", "Node.js v20.20.2")
	if d := Diagnose(ev); !strings.Contains(advised(d), command) || d.Explain != PagePackageScripts {
		t.Errorf("%s", d.Text())
	}
}

// TestEarlierOutput: what was written before the failing call ranks lower than what the jail refused
// during it and than what was written since.
func TestEarlierOutput(t *testing.T) {
	const old, since = "EACCES: permission denied, open '/home/u/notes/a.md'", "EACCES: permission denied, open '/srv/models/m.bin'"
	ev := evidence("")
	ev.Exit = &Exit{Code: 1}
	ev.Stderr, ev.Earlier = append([]string{old}, trace(3)...), 4
	ev.Denials = refusals("open /data/notes/x.md")
	if d := Diagnose(ev); d.Hints[0].Target != "/data/notes/x.md" {
		t.Errorf("%s", d.Text())
	}
	ev.Denials = nil
	ev.Stderr = append(append([]string{old}, trace(3)...), since, "done")
	if d := Diagnose(ev); d.Hints[0].Target != "/srv/models/m.bin" {
		t.Errorf("%s", d.Text())
	}
	// The denial is named by the older line only.
	ev.Denials = refusals("open /home/u/notes/a.md", "open /srv/models/m.bin")
	if d := Diagnose(ev); d.Hints[0].Target != "/srv/models/m.bin" {
		t.Errorf("%s", d.Text())
	}
}
