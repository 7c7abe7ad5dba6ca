package diagnostics

import (
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

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

// TestAwaited checks what a running server is said to wait for.
func TestAwaited(t *testing.T) {
	ev := evidence("")
	ev.Stage, ev.Tool, ev.Method, ev.Stderr = StageStartup, "", "", []string{"OAuth callback server running at http://127.0.0.1:16774", "Waiting for authorization..."}
	ev.Listening = func() ([]int, bool) { return []int{16774}, true }
	ev.Logins = func() string { return "~/.mcp-auth" }
	defaultProfile(ev.Profile)
	d, ok := Awaited(ev)
	want := "--inbound 16774"
	if !ok || strings.Join(d.Words, " ") != want || !strings.Contains(d.What, "has not answered yet") || !strings.Contains(advised(d), "`mcp-jail wrap`") {
		t.Errorf("%v\n%s", ok, d.Text())
	}
	ev.Stderr = []string{"OAuth is configured with redirect_uri=http://localhost:9999/"}
	if d, ok := Awaited(ev); ok {
		t.Errorf("a port at which it does not listen\n%s", d.Text())
	}
}

func TestBuildFix(t *testing.T) {
	for _, system := range []string{"linux", "darwin"} {
		if got := BuildFix(&os.SyscallError{Syscall: "pipe2", Err: syscall.EMFILE}, system); !strings.Contains(got, "ulimit -n") {
			t.Errorf("EMFILE on %s: %q", system, got)
		}
	}
	for _, err := range []error{nil, os.ErrPermission, syscall.EPERM} {
		if got := BuildFix(err, "linux"); got != "" {
			t.Errorf("%v: %q", err, got)
		}
	}
}

// TestBrief tests that a brief sentence has all words but the server's name.
func TestBrief(t *testing.T) {
	for _, c := range []struct {
		evidence Evidence
		what     string
		brief    string
	}{
		{Evidence{Server: "%s", Tool: "read%s", Stage: StageCall}, `read% s of % s failed`, `read% s failed`},
		{Evidence{Server: "s", Stage: StageStartup}, `s ended before its first answer`, `s ended before its first answer`},
		{Evidence{Server: "s", Stage: StageExec, Start: &Start{Step: StepExec, Errno: syscall.ENOENT}}, `s could not be started`, `s could not be started`},
	} {
		if d := Diagnose(c.evidence); d.What != c.what || d.Brief() != c.brief {
			t.Errorf("%q and %q, want %q and %q", d.What, d.Brief(), c.what, c.brief)
		}
	}
	if got := (Tools{Server: "s", Accept: "a", Refused: true}).Diagnosis().Brief(); got != `the tools are not those that mcp-jail.lock pins, and pin_tools is "enforce"` {
		t.Errorf("%q", got)
	}
}
