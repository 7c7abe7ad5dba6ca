package diagnostics

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestQuietCall checks that a successful call is not described as failed, even if stderr
// holds errors.
func TestQuietCall(t *testing.T) {
	ev := evidence("")
	ev.Stderr = []string{"EACCES: permission denied, open '/home/u/notes/a.md'"}
	ev.Denials = []policy.Denial{{Axis: policy.AxisNet, Operation: "connect", Target: "telemetry.x.com:443"}}
	d := Diagnose(ev)
	if strings.Contains(d.What, "failed") || len(d.Hints) != 1 || d.Attribution != Certain {
		t.Errorf("%s", d.Text())
	}
}

// TestAnalyzeBeforeRedacting checks that a secret in the middle of a path neither changes
// the analyzed path nor is shown.
func TestAnalyzeBeforeRedacting(t *testing.T) {
	ev := evidence("EACCES: permission denied, open '/var/lib/postgres/x'")
	ev.Profile.Env = append(ev.Profile.Env, policy.Variable{Name: "DB_USER", Value: "postgres", Secret: true})
	ev.Exists = host{"/var/lib/postgres/x": true}.exists
	d := Diagnose(ev)
	if d.Attribution != Likely || d.Hints[0].Missing != "read" || strings.Contains(told(d), "postgres") || len(d.Words) > 0 || !strings.Contains(advised(d), "the value of a secret variable") {
		t.Errorf("%s", d.Text())
	}
	ev.Profile.Env = append(ev.Profile.Env[:len(ev.Profile.Env)-1], policy.Variable{Name: "DATA_DIR", Value: "/data/notes", Secret: true})
	ev.Text, ev.Exists = "EACCES: permission denied, open '/data/notes/x.md'", someHost.exists
	if d := Diagnose(ev); strings.Join(d.Words, " ") != `--read /data/notes/x.md` {
		t.Errorf("%s", d.Text())
	}
	// The analyzer reads the unredacted stderr.
	tail := NewTail(NewRedactor([]policy.Variable{{Name: "DATABASE", Value: "postgres", Secret: true}}))
	tail.Write([]byte("open '/var/lib/postgres/x'\nlast"))
	if got := tail.RawLines(-1); !slices.Equal(got, []string{"open '/var/lib/postgres/x'", "last"}) {
		t.Errorf("heard %q", got)
	}
	ev.Profile.Env[len(ev.Profile.Env)-1] = policy.Variable{Name: "DB_USER", Value: "postgres", Secret: true}
	ev.Stage, ev.Text, ev.Exists = StageStartup, "", host{"/var/lib/postgres/x": true}.exists
	ev.Exit = &Exit{Code: 1}
	ev.RawStderr, ev.Stderr = []string{"EACCES: permission denied, open '/var/lib/postgres/x'"}, []string{"EACCES: permission denied, open '/var/lib/[redacted DB_USER]/x'"}
	if d := Diagnose(ev); d.Attribution != Likely || strings.Contains(string(d.ErrorFrame([]byte("1")))+d.Text(), "postgres") {
		t.Errorf("%s", d.Text())
	}
}

// TestCauseElsewhere covers texts whose cause is not the path that they name, or is not
// the policy.
func TestCauseElsewhere(t *testing.T) {
	const list = "Access denied - path outside allowed directories: /home/u/notes/a.md not in /home/u/work"
	for _, tt := range []struct {
		name, text string
		change     func(*Evidence)
	}{
		{"a granted root of the client's, and the server refuses all the same", list, func(ev *Evidence) {
			ev.Roots = []string{"/home/u/notes"}
			ev.Profile.Entries = append(ev.Profile.Entries[:1:1], append([]policy.Entry{{Path: "/home/u/notes", Rights: policy.Read}}, ev.Profile.Entries[1:]...)...)
		}},
		{"a directory that the host does not let its user look into", "ls: cannot open directory 'src': Permission denied", func(ev *Evidence) {
			for i, e := range ev.Profile.Entries {
				if e.Path == "/home/u/work/src" {
					ev.Profile.Entries[i] = policy.Entry{Path: e.Path, Origin: policy.OriginSensitive, Rule: policy.UnsearchableRule}
				}
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ev := evidence(tt.text)
			tt.change(&ev)
			if d := Diagnose(ev); d.Attribution != None || len(d.Words) > 0 {
				t.Errorf("%s", d.Text())
			}
		})
	}
}
