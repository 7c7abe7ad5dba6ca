package diagnostics

import (
	"strings"
	"syscall"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// onWindows returns evidence from Windows, whose profiles have no entries.
func onWindows(text string, limits policy.Limits) Evidence {
	ev := evidence(text)
	ev.System = "windows"
	ev.Profile = fixture(func(p *policy.Profile) { p.Entries, p.Net, p.Limits = nil, nil, limits })
	return ev
}

// TestWindowsLimits: a limit that the job reported is named with the line that raises it.
func TestWindowsLimits(t *testing.T) {
	limits := policy.Limits{Processes: 4, MemoryMB: 100}
	for name, c := range map[string]struct {
		operation, target string
		want, line        string
	}{
		"processes": {"processes", "processes = 4", "reached the limit processes = 4: Windows starts no further process", "--limit processes=8"},
		"memory":    {"memory", "memory_mb = 100", "together asked for more than memory_mb = 100, and Windows gave them no more", "--limit memory_mb=200"},
	} {
		ev := onWindows("it failed", limits)
		ev.Denials = []policy.Denial{{Axis: policy.AxisLimits, Operation: c.operation, Target: c.target, Count: 2}}
		ev.Exit = &Exit{Code: 0xC0000005}
		d := Diagnose(ev)
		if d.Attribution != Certain || !strings.Contains(told(d), c.want) || strings.Join(d.Words, " ") != c.line || !strings.Contains(d.What, "0xC0000005") {
			t.Errorf("%s: %s %q\n%s", name, d.Attribution, d.Words, d.Text())
		}
	}
}

// TestWindowsRefusesNoFile: on Windows the jail restricts no files, hosts or programs, so no text of a
// server makes a refusal of them. On Linux each of these does.
func TestWindowsRefusesNoFile(t *testing.T) {
	for _, text := range []string{
		"EACCES: permission denied, open '/home/u/notes/a.md'", "getaddrinfo ENOTFOUND api.example.com",
		"EXDEV: cross-device link not permitted, rename '/a' -> '/b'",
	} {
		ev := onWindows(text, policy.Limits{})
		ev.Profile = fixture(nil)
		if d := Diagnose(ev); d.Attribution != None || d.Cause != "" || len(d.Words) > 0 {
			t.Errorf("%s: %s %q\n%s", text, d.Attribution, d.Words, d.Text())
		}
		ev.System = ""
		if d := Diagnose(ev); d.Attribution == None {
			t.Errorf("control on Linux: %s\n%s", text, d.Text())
		}
	}
}

// TestWindowsStart: a program that Windows does not start was not refused by a rule.
func TestWindowsStart(t *testing.T) {
	for errno, fix := range map[syscall.Errno]string{5: "virus scanner", 193: "interpreter", 740: "administrator", 2: ""} {
		ev := onWindows("", policy.Limits{})
		ev.Exists = func(string) bool { return true }
		ev.Stage, ev.Start = StageExec, &Start{Step: "exec", Errno: errno, Detail: "/home/u/work/srv"}
		d := Diagnose(ev)
		if d.Attribution != None || !strings.Contains(told(d), "could not be started") || !strings.Contains(advised(d), fix) || len(d.Words) > 0 || strings.Contains(told(d), "chmod") {
			t.Errorf("error %d: %s %q\n%s", errno, d.Attribution, d.Words, d.Text())
		}
	}
}
