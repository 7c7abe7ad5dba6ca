package diagnostics

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestStartFailures(t *testing.T) {
	for _, tt := range []struct {
		name  string
		start Start
		alter func(*Evidence)
		code  Code
		want  Attribution
		cause string
		fix   string
	}{
		{"jail", Start{Step: "mounts", Errno: syscall.EPERM, Detail: "/proc"}, nil, CodeJail, Certain, `the step "mounts" failed at "/proc"`, "doctor"},
		{"jail, no errno", Start{Step: "self-test", Detail: "mount: it succeeded"}, nil, CodeJail, Certain, `the step "self-test" failed: mount: it succeeded`, "doctor"},
		{"jail, no room for filters", Start{Step: "seccomp", Errno: 524}, nil, CodeJail, Certain, "the kernel has no room for another compiled filter", "net.core.bpf_jit_limit"},
		{"jail, too many descriptors in flight", Start{Step: "spec", Errno: syscall.ETOOMANYREFS}, nil, CodeJail, Certain, `the step "spec" failed`, "descriptors in flight"},
		{"jail, too many paths", Start{Step: "mounts", Errno: syscall.EMFILE, Detail: "/w/a"}, nil, CodeJail, Certain, `failed at "/w/a": too many open files`, "ulimit -n"},
		{"jail, a secret", Start{Step: "requests", Detail: "the secret of a.test: false ended with status 1"}, nil, CodeJail, Certain, "false ended with status 1", "correct the `secret`"},
		{"jail, no private HOME", Start{Step: "create directory", Errno: syscall.EACCES, Detail: "/home/u/.local/state/mcp-jail/homes/github (the server's private HOME)"}, nil, CodeJail, Certain, "permission denied", "set XDG_STATE_HOME"},
		{"jail, no directory", Start{Step: "create directory", Errno: syscall.EROFS, Detail: "/srv/x (path = \"/srv/x/\")"}, nil, CodeJail, Certain, "read-only", "create it yourself"},
		{"missing", Start{Step: StepExec, Errno: syscall.ENOENT, Detail: "/usr/bin/nope"}, nil, CodeExec, None, "there is no program", "install"},
		{"not granted", Start{Step: StepExec, Errno: syscall.EACCES, Detail: "/opt/tools/bin/rg"}, nil, CodeExec, Certain, "does not let the server execute", "--execute"},
		{"no mode", Start{Step: StepExec, Errno: syscall.EACCES, Detail: "/usr/bin/git"}, nil, CodeExec, None, "not executable", "chmod"},
		{"interpreter", Start{Step: StepExec, Errno: syscall.ENOENT, Detail: "/usr/bin/git"}, nil, CodeExec, Possible, "interpreter", "first line"},
		{"format", Start{Step: StepExec, Errno: syscall.ENOEXEC, Detail: "/usr/bin/git"}, nil, CodeExec, None, "not a program for this machine", "interpreter"},
		{"not listed", Start{Step: StepExec, Errno: syscall.EACCES, Detail: "/usr/bin/git"}, func(ev *Evidence) { ev.Profile.Programs = []string{} }, CodeExec, Certain, "do not list", "only a rule"},
		{"no profile", Start{Step: StepExec, Errno: syscall.ENOENT}, func(ev *Evidence) { ev.Profile = nil }, CodeExec, None, "could not be started", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ev := evidence("")
			ev.Stage, ev.Tool, ev.Method, ev.Start = StageExec, "", "", &tt.start
			if tt.alter != nil {
				tt.alter(&ev)
			}
			d := Diagnose(ev)
			if d.Code != tt.code || d.Attribution != tt.want || !strings.Contains(d.Cause, tt.cause) || !strings.Contains(advised(d), tt.fix) {
				t.Errorf("code %d, attribution %s\n%s", d.Code, d.Attribution, d.Text())
			}
		})
	}
}

func TestExit(t *testing.T) {
	for _, tt := range []struct {
		name  string
		alter func(*Evidence)
		code  Code
		want  Attribution
		what  string
		cause string
	}{
		{"boot, status", func(ev *Evidence) { ev.Stage, ev.Exit = StageStartup, &Exit{Code: 1} }, CodeStartup, None, "ended before its first answer (exit status 1)", ""},
		{"call, killed", func(ev *Evidence) { ev.Exit = &Exit{Code: 137, Signal: syscall.SIGKILL} }, CodeDied, Possible, `during the call of search (SIGKILL)`, "memory_mb = 4096"},
		{"list", func(ev *Evidence) {
			ev.Stage, ev.Tool, ev.Method, ev.Exit = StageList, "", "tools/list", &Exit{Code: 2}
		}, CodeDied, None, `ended during "tools/list" (exit status 2)`, ""},
		{"call, slow", func(ev *Evidence) { ev.Timeout = 1500 * time.Millisecond }, CodeTimeout, None, `no answer within 1.5s during the call of search`, ""},
		{"npx, silent", func(ev *Evidence) {
			ev.Stage, ev.Timeout = StageStartup, time.Minute
			ev.Profile.Argv, ev.Profile.Net = []string{"npx", "-y", "x"}, nil
		}, CodeTimeout, Likely, "no answer within 60 s of its start", "npx downloads"},
		{"npx, with words", func(ev *Evidence) {
			ev.Stage, ev.Exit = StageStartup, &Exit{Code: 1}
			ev.Profile.Argv = []string{"npx", "-y", "x"}
			ev.Stderr = []string{"npm error code EAI_AGAIN", "npm error request to https://registry.example.org/x failed, reason: getaddrinfo EAI_AGAIN registry.example.org"}
		}, CodeStartup, Likely, "ended before", "registry.example.org"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ev := evidence("")
			tt.alter(&ev)
			d := Diagnose(ev)
			if d.Code != tt.code || d.Attribution != tt.want || !strings.Contains(d.What, tt.what) || !strings.Contains(d.Cause, tt.cause) {
				t.Errorf("code %d, attribution %s\n%s", d.Code, d.Attribution, d.Text())
			}
			if tt.name == "call, slow" && !strings.Contains(advised(d), "call_timeout_secs") {
				t.Errorf("fix %q", d.Fix)
			}
			if ev.Exit != nil && (d.Signal == "") == (d.Exit == nil) {
				t.Errorf("exit %v, signal %q", d.Exit, d.Signal)
			}
		})
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
