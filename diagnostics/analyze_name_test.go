package diagnostics

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

func TestUnsetVariable(t *testing.T) {
	ev := evidence("BAR_KEY environment variable is required")
	ev.Unset = []string{"BAR_KEY"}
	if d := Diagnose(ev); d.Attribution != None || len(d.Words) > 0 || !strings.Contains(d.Cause, "granted but not set") {
		t.Errorf("%s", d.Text())
	}
}

// TestUnlistedProgram covers a file that the server may execute but that is not in its
// list of commands.
func TestUnlistedProgram(t *testing.T) {
	for text, want := range map[string]string{
		"x: 3: /usr/bin/git: Permission denied":      ``,
		"x: 3: /usr/lib/deep/git: Permission denied": ``,
		"Error: spawn git EACCES":                    ``,
		"x: 3: /usr/bin/node: Permission denied":     "",
		"x: cannot open /usr/lib/f: No such file":    "",
	} {
		ev := evidence(text)
		ev.Profile.Programs = []string{"/usr/bin/node"}
		if d := Diagnose(ev); strings.Join(d.Words, " ") != want {
			t.Errorf("%s: got %q, want %q", text, d.Words, want)
		}
	}
}

// TestRefusedStartAlone tests that the words about a program which the jail did not start lead to no
// right on a file of the workspace beside it.
func TestRefusedStartAlone(t *testing.T) {
	for _, text := range []string{
		"PermissionError: [Errno 13] Permission denied: 'git'", "env: 'git': Permission denied", "[Errno 13] Permission denied: '/usr/bin/git'", "sh: 1: git: Permission denied",
	} {
		for _, recorded := range []bool{true, false} {
			ev := evidence(text)
			ev.Profile.Programs = []string{"/usr/bin/node"}
			ev.Profile.Entries[1].Rights = policy.Read
			if recorded {
				ev.Denials = []policy.Denial{{Axis: policy.AxisProcess, Operation: "exec", Target: "/usr/bin/git"}}
			}
			d := Diagnose(ev)
			if got := strings.Join(d.Words, " "); got != "" || len(d.Hints) != 1 {
				t.Errorf("%s, recorded: %v: %q, %d causes\n%s", text, recorded, got, len(d.Hints), d.Text())
			}
		}
	}
}
