package confine_test

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestSupervisorShrinks: the supervisor gives back pages of the program's file that only its start needed.
func TestSupervisorShrinks(t *testing.T) {
	jailtest.Needs(t)
	started := jailtest.Begin(t, jailtest.Profile(t), attacker.Try("wait"))
	testkit.Eventually(t, "the supervisor runs", started.IsSupervised)
	most := 0
	testkit.Eventually(t, "it has less than two thirds of the pages", func() bool {
		now := mappedFiles(t, started.PID())
		most = max(most, now)
		return now < most*2/3
	})
	started.Kill()
	started.Finish()
}

// mappedFiles returns how much of files a process has mapped, in kB.
func mappedFiles(t *testing.T, pid int) int {
	t.Helper()
	status := testkit.Get(os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status"))(t)
	_, rest, _ := strings.Cut(string(status), "\nRssFile:")
	n := testkit.Get(strconv.Atoi(strings.Fields(rest)[0]))(t)
	return n
}
