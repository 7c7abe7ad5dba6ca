package diagnostics

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/facts"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestLimitsAreNamed checks that the diagnosis names a limit that was reached, from any
// kind of evidence, and the line that raises it.
func TestLimitsAreNamed(t *testing.T) {
	denial := func(op, target string, pid int) func(*Evidence) {
		return func(ev *Evidence) {
			ev.Denials = []policy.Denial{{Axis: policy.AxisLimits, Operation: op, Target: target, PID: pid, Program: "node", Count: 1}}
		}
	}
	killed := func(sig syscall.Signal) func(*Evidence) {
		return func(ev *Evidence) { ev.Exit = &Exit{Code: 128 + int(sig), Signal: sig} }
	}
	const sigXFSZ = syscall.Signal(25) // on Linux and macOS; Windows has none
	for _, tt := range []struct {
		name  string
		text  string
		alter func(*Evidence)
		want  Attribution
		cause string
		line  string // of the limits; "" for none
	}{
		{"memory, recorded", "", denial("memory", "memory_mb = 4096", 7), Certain, `used more than memory_mb = 4096, so mcp-jail ended them all. The largest was "node"`, "memory_mb = 8192"},
		{"memory of a cgroup", "", denial("memory", "memory_mb = 4096", 0), Certain, "reached the limit memory_mb = 4096", "memory_mb = 8192"},
		{"processes, recorded", "", denial("processes", "processes = 512", 0), Certain, "reached the limit processes = 512", "processes = 1024"},
		{"space, recorded", "", denial("space in /tmp", "memory_mb = 4096", 0), Certain, "/tmp is full: it holds at most half of memory_mb = 4096", "memory_mb = 8192"},
		{"a key that is not known", "", denial("colour", "paint_mb = 3", 0), Certain, "colour", ""},
		{"killed, since the jail could not go on", "", func(ev *Evidence) { ev.Exit = &Exit{Code: 137, Signal: syscall.SIGKILL, Why: "step x failed"} }, Certain, "could no longer enforce the policy and ended the server: step x failed", ""},
		{"killed", "", killed(syscall.SIGKILL), Possible, "more than memory_mb = 4096", ""},
		{"SIGXFSZ", "", killed(sigXFSZ), Possible, "file_size_mb = 1024", ""},
		{"control: many processes, and no word of them", "[Errno 11] Resource temporarily unavailable", nil, None, "", ""},
		{"control: a read that would block", "read: Resource temporarily unavailable", nil, None, "", ""},
		{"control: the host has no more files", "Too many open files in system", nil, None, "", ""},
		{"control: a disk that is full", "ENOSPC: no space left on device, write '/home/u/work/x'", nil, None, "", ""},
	} {
		if tt.name == "SIGXFSZ" && facts.SignalName(sigXFSZ) != tt.name {
			continue
		}
		t.Run(tt.name, func(t *testing.T) {
			ev := evidence(tt.text)
			if tt.alter != nil {
				tt.alter(&ev)
			}
			d := Diagnose(ev)
			if d.Attribution != tt.want || !strings.Contains(d.Cause, tt.cause) {
				t.Errorf("%s: %s", d.Attribution, d.Text())
			}
			if tt.line == "" {
				if len(d.Words) != 0 {
					t.Errorf("lines %q", d.Words)
				}
				return
			}
			if want := "--limit " + strings.ReplaceAll(tt.line, " ", ""); strings.Join(d.Words, " ") != want || !strings.Contains(advised(d), "grant "+want) {
				t.Errorf("lines %q, fix %q", d.Words, d.Fix)
			}
		})
	}
}

// TestTimeoutsAreNamed checks that a timeout is named, also beside another possible cause.
func TestTimeoutsAreNamed(t *testing.T) {
	for _, stderr := range [][]string{nil, {"EACCES: permission denied"}, {"EACCES: permission denied, open '/home/u/.ssh/id'"}} {
		for stage, line := range map[Stage]string{StageCall: "raise call_timeout_secs = 30 under [servers.github]", StageStartup: "raise startup_timeout_secs = 30 under [servers.github]"} {
			ev := evidence("")
			ev.Stage, ev.Timeout, ev.Stderr = stage, 30*time.Second, stderr
			if d := Diagnose(ev); !strings.Contains(advised(d), line) {
				t.Errorf("%s, stderr %q: fix %q", stage, stderr, d.Fix)
			}
			ev.FromCommandLine = true
			line = "with a larger " + strings.Fields(line)[1]
			if stage == StageStartup {
				line = "start it with --limit startup_timeout_secs=60"
			}
			if d := Diagnose(ev); !strings.Contains(advised(d), line) {
				t.Errorf("%s on the command line, stderr %q: fix %q", stage, stderr, d.Fix)
			}
		}
	}
	ev := evidence("it failed")
	if d := Diagnose(ev); strings.Contains(advised(d), "_secs") {
		t.Errorf("no time-out: %q", d.Fix)
	}
}
