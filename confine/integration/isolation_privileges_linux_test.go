package integration

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
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
	t.Run("the host's root is not below this one", func(t *testing.T) {
		mounts := jailtest.Attempt(t, p, "read", "/proc/self/mountinfo")
		roots := 0
		for line := range strings.Lines(mounts) {
			if f := strings.Fields(strings.TrimPrefix(line, "ok ")); f[4] == "/" {
				roots++
			}
		}
		testkit.Equal(t, fmt.Sprintf("mounts at /:\n%s", mounts), roots, 1)
	})
}
