package confine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/confine/internal/kernel"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestJailEndsWhenLimitsCannotBeSet: the limits of a cgroup are loosened until the supervisor
// runs. If they cannot be set again, the jail ends and says why.
func TestJailEndsWhenLimitsCannotBeSet(t *testing.T) {
	jailtest.Needs(t)
	for _, holds := range []bool{true, false} {
		t.Run(fmt.Sprintf("held %t", holds), func(t *testing.T) {
			dir := testkit.Plant(t, "cgroup/pids.max")
			prepared := confine.Launcher{}.Prepare()
			testkit.Eventually(t, "it is there", func() bool { return prepared.Waiting().PID() > 0 })
			p := jailtest.Profile(t)
			p.Argv = append(p.Argv, jailtest.Args(t, []attacker.Attempt{attacker.Try("wait")})...)
			own := &kernel.Cgroup{Dir: dir + "/cgroup"}
			if !holds {
				own.Dir += "/none"
			}
			prepared.Waiting().ReplaceCgroup(own)
			prepared.Waiting().Limit(policy.Limits{Processes: 40})
			proc := testkit.Get(confine.Launcher{Prepared: prepared}.Start(t.Context(), p, jail.Stdio{}))(t)
			if holds {
				testkit.Eventually(t, "its supervisor", proc.IsSupervised)
				proc.Kill()
			}
			select {
			case <-proc.Done():
			case <-time.After(testkit.Patience):
				t.Error("it does not end")
				proc.Kill()
			}
			if exit, _ := proc.Wait(); exit.Signal != unix.SIGKILL || holds != (exit.Why == "") || !holds && !strings.Contains(exit.Why, "pids.max") {
				t.Errorf("%+v", exit)
			}
		})
	}
}
