package integration

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
)

// threadNames are attempts to write to /proc: outside of a jail, in one with namespaces, and in one
// without, which has no /proc to look through.
var threadNames = []struct {
	attempt               string
	control, want, hostNS attacker.Outcome
}{
	{"name-thread rw /proc/self/comm", "ok named", "ok named", "ok named"},
	{"name-thread w /proc/self/comm", "ok named", "ok named", "ok named"},
	{"name-thread rw /proc/thread-self/comm", "ok named", "ok named", "ok named"},
	{"name-thread rw /proc/self/task/OWN/comm", "ok named", "ok named", "ok named"},
	{"name-thread rw /proc/self/task/OTHER/comm", "ok named", "ok named", "ok named"},
	{"name-thread w /proc/PID/task/OTHER/comm", "ok named", "ok named", "ok named"},
	{"name-thread rw /proc/self/task/../task//OTHER/./comm", "ok named", "ok named", "ok named"},
	{"name-thread excl /proc/self/comm", "EEXIST", "EEXIST", "EEXIST"},
	{"name-thread rw /proc/self/comm/", "ENOTDIR", "ENOTDIR", "ENOTDIR"},
	{"name-thread rw /proc/self/task/1/comm", "ENOENT", "ENOENT", "ENOENT"}, // of another process
	{"name-among-ending", "ok 0", "ok 0", "ok 0"},
	{"name-by-heir", "ok refused", "ok refused", "ok refused"},
	{"name-thread rw /proc/CHILD/comm", "EINVAL", "EACCES", "EACCES"},
	{"name-thread rw /proc/CHILD/task/CHILD/comm", "EINVAL", "EACCES", "EACCES"},
	{"write /proc/self/oom_score_adj", "ok", "EROFS", "EACCES"},
	{"write /proc/self/coredump_filter", "ok", "EROFS", "EACCES"},
	{"write /proc/self/timerslack_ns", "ok", "EROFS", "EACCES"},
	{"write /proc/self/clear_refs", "ok", "EROFS", "EACCES"},
	{"write /proc/self/mem", "ok", "EROFS", "EACCES"},
	{"write /proc/self/uid_map", "ok", "EROFS", "EACCES"},
	{"write /proc/self/attr/exec", "ok", "EROFS", "EACCES"},
	{"write /proc/thread-self/attr/exec", "ok", "EROFS", "EACCES"},
}

// TestJailThreadNames: a server names its own threads through /proc and writes nothing else there.
func TestJailThreadNames(t *testing.T) {
	jailtest.Needs(t)
	tries := threadAttempts()
	free, jailed := jailtest.Unconfined(t, "/", tries...), jailtest.Attempts(t, jailtest.Profile(t), tries...)
	for i, c := range threadNames {
		jailtest.Expect(t, c.attempt+" unconfined", free[i], c.control)
		jailtest.Expect(t, c.attempt, jailed[i], c.want)
	}
}

func TestHostNSThreadNames(t *testing.T) {
	jailtest.NeedsHostNS(t)
	got := jailtest.AttemptsHostNS(t, jailtest.Profile(t), threadAttempts()...)
	for i, c := range threadNames {
		jailtest.Expect(t, c.attempt, got[i], c.hostNS)
	}
}

func threadAttempts() (all []attacker.Attempt) {
	for _, c := range threadNames {
		all = append(all, strings.Fields(c.attempt))
	}
	return all
}
