package diagnostics

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestDenialOfAGrant checks that a denial that contradicts the policy is reported and
// leads to no rule.
func TestDenialOfAGrant(t *testing.T) {
	ev := evidence("")
	ev.Denials = []policy.Denial{{Axis: policy.AxisFs, Operation: "open", Target: "/home/u/work/out.txt"}, {Axis: policy.AxisFs, Operation: "open", Target: "/\xff"}}
	d := Diagnose(ev)
	if d.Attribution != Certain || len(d.Words) > 0 || !strings.Contains(d.Hints[0].Fix, "already grants this") || !utf8.ValidString(d.Denials[1].Target) {
		t.Errorf("%s", d.Text())
	}
}

// TestDenialOfARename covers a refused rename, of which the record holds only the new
// name.
func TestDenialOfARename(t *testing.T) {
	ev := evidence("mv: cannot move 'src' to 'old': Device or resource busy")
	ev.Denials = []policy.Denial{{Axis: policy.AxisFs, Operation: "rename", Target: "/home/u/work/old"}}
	d := Diagnose(ev)
	if d.Attribution != Certain || len(d.Words) > 0 || strings.Contains(told(d), "report the problem") || !strings.Contains(advised(d), "the old name cannot be moved") {
		t.Errorf("%s", d.Text())
	}
}

// TestDenialOfOthers checks that denials counted without their targets are named as a cause, without a
// line to add. "(others)" is not taken for a file, program or host.
func TestDenialOfOthers(t *testing.T) {
	for _, tt := range []struct {
		denial policy.Denial
		want   Attribution
		cause  string
	}{
		{policy.Denial{Axis: policy.AxisFs, Operation: "create", Reason: "limit", Program: "/usr/bin/node", Count: 2000}, Certain, "than it records one by one"},
		{policy.Denial{Axis: policy.AxisProcess, Operation: "exec", Reason: "limit", Count: 1}, Certain, "than it records one by one"},
		{policy.Denial{Axis: policy.AxisNet, Operation: "connect", Reason: "limit", Count: 3}, Certain, "than it records one by one"},
		{policy.Denial{Axis: policy.AxisFs, Operation: "mkdir", Reason: "absent", Count: 9}, Possible, "tried more missing names than were looked up on this machine"},
	} {
		tt.denial.Target = "(others)"
		ev := evidence("it failed")
		ev.Denials = []policy.Denial{tt.denial}
		if d := Diagnose(ev); d.Attribution != tt.want || !strings.Contains(d.Cause, tt.cause) || len(d.Words) != 0 {
			t.Error(d.Text())
		}
	}
}

// TestDenialOfAStart checks that the text about a refused start of a file that the server may read
// leads to no grant to write that file: the record says which right it lacks.
func TestDenialOfAStart(t *testing.T) {
	lines := func(target string) string {
		ev := evidence("PermissionError: [Errno 13] Permission denied: '/home/u/work/src/lib.rs'")
		ev.Denials = []policy.Denial{{Axis: policy.AxisProcess, Operation: "exec", Target: target}}
		return strings.Join(Diagnose(ev).Words, " ")
	}
	if got := lines("/home/u/work/src/lib.rs"); got != "--execute ~/work/src/lib.rs" {
		t.Errorf("lines %q", got)
	}
}

// TestMoveIntoSharedDirectory: a rule for a file alone keeps it in place, so that no such line is
// proposed where something is moved to.
func TestMoveIntoSharedDirectory(t *testing.T) {
	for _, op := range []string{"rename something to", "rename"} {
		for shared, want := range map[string]string{"": "--write ~/docs", "holds the files of many programs": ""} {
			ev := evidence("[Errno 2] No such file or directory: '/home/u/docs/a.txt'")
			ev.FromCommandLine, ev.Profile.Default = true, true
			ev.Exists = host{"/home/u/docs/a.txt": true}.exists
			ev.Shared = func(dir string) string {
				if dir == "/home/u/docs" {
					return shared
				}
				return ""
			}
			ev.Denials = []policy.Denial{{Axis: policy.AxisFs, Operation: op, Target: "/home/u/docs/a.txt", Program: "/usr/bin/python3", Count: 1}}
			d := Diagnose(ev)
			if got := strings.Join(d.Words, " "); got != want || shared != "" && !strings.Contains(advised(d), "needs a rule for the directory, but ~/docs "+shared) {
				t.Errorf("%s, %q: %q, want %q\n%s", op, shared, got, want, d.Text())
			}
		}
	}
}
