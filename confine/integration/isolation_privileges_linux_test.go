package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"golang.org/x/sys/unix"
)

// TestJailState: the server's own process has the state that a jail gives it.
func TestJailState(t *testing.T) {
	jailtest.Needs(t)
	p := jailtest.Profile(t)
	const none = "0000000000000000"
	p.Env = []policy.Variable{{Name: "ONE", Value: "1"}, {Name: "TWO", Value: "a b"}}
	t.Setenv("MCPJAIL_TEST_SECRET", "must not be seen")
	t.Run("mine", func(t *testing.T) {
		got := jailtest.Attempts(t, p,
			attacker.Try("status", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"),
			attacker.Try("status", "NoNewPrivs", "Seccomp", "TracerPid"),
			attacker.Try("env"), attacker.Try("cwd"), attacker.Try("ids"), attacker.Try("fds"),
			attacker.Try("limit", fmt.Sprint(unix.RLIMIT_CORE)), attacker.Try("secure-bits"),
			attacker.Try("read", "/proc/self/coredump_filter"),
		)
		uid := os.Getuid()
		want := []attacker.Outcome{
			"ok " + strings.Join([]string{none, none, none, none, none}, " "), "ok 1 2 0",
			"ok ONE=1 TWO=a b", "ok /", fmt.Sprintf("ok %d %d %d", uid, uid, os.Getgid()), "ok 0 1 2", "ok 1 1",
			"ok 0xef", // every bit and its lock, but for KEEP_CAPS, which is off
			"ok 00000000\n",
		}
		for i := range want {
			jailtest.Expect(t, fmt.Sprint("answer ", i), got[i], want[i])
		}
	})
	t.Run("descriptors that the launcher leaves open", func(t *testing.T) {
		for range 5 {
			fd, err := unix.Open("/", unix.O_RDONLY|unix.O_DIRECTORY, 0) // not close-on-exec
			testkit.Must(t, err)
			defer unix.Close(fd)
		}
		// Those are closed by sys.PadFDTable already, but not one beyond that.
		testkit.Must(t, unix.Dup2(0, sys.MinFDTable+7))
		defer unix.Close(sys.MinFDTable + 7)
		if got := jailtest.Unconfined(t, "/", attacker.Try("fds"))[0]; got == "ok 0 1 2" {
			t.Errorf("unconfined: %s: nothing was inherited, so there is nothing to test", got)
		}
		jailtest.Expect(t, "in the jail", jailtest.Attempt(t, p, "fds"), "ok 0 1 2")
	})
	t.Run("the host's root is not below this one", func(t *testing.T) {
		mounts := jailtest.Attempt(t, p, "read", "/proc/self/mountinfo")
		roots := 0
		for line := range strings.Lines(mounts) {
			if f := strings.Fields(strings.TrimPrefix(line, "ok ")); f[4] == "/" {
				roots++
			}
		}
		if roots != 1 {
			t.Errorf("%d mounts at /:\n%s", roots, mounts)
		}
	})
	t.Run("umask and working directory", func(t *testing.T) {
		dir := testkit.Plant(t, "deep/er/")
		old := unix.Umask(0o077)
		defer unix.Umask(old)
		q := jailtest.Profile(t, jailtest.Grant{Path: dir, Rights: rw})
		q.Dir = filepath.Join(dir, "deep/er")
		got := jailtest.Attempts(t, q, attacker.Try("umask"), attacker.Try("cwd"), attacker.Try("create", "here"), attacker.Try("create", "/tmp/there"), attacker.Try("read", "/etc/hosts"))
		want := []attacker.Outcome{"ok 077", "ok " + q.Dir, "ok", "ok"}
		for i := range want {
			jailtest.Expect(t, fmt.Sprint("answer ", i), got[i], want[i])
		}
		if !strings.HasPrefix(got[4], "ok") {
			t.Errorf("/etc/hosts: %s", got[4])
		}
	})
}
