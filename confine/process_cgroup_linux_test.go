package confine_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/cgroup"
	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"golang.org/x/sys/unix"
)

// TestJailRemovesItsCgroup: the end of the jail removes its cgroup, also if the plan does not
// count on one.
func TestJailRemovesItsCgroup(t *testing.T) {
	jailtest.Needs(t)
	if place := cgroup.Locate(); !place.None() {
		t.Logf("every plan here counts on one (%+v): see TestJailCgroup", place)
		return
	}
	for range 5 {
		prepared := confine.Launcher{}.Prepare()
		testkit.Eventually(t, "it is there", func() bool { return prepared.Waiting().PID() > 0 })
		dir := testkit.Plant(t, "cgroup/")
		prepared.Waiting().ReplaceCgroup(&cgroup.Cgroup{Dir: dir + "/cgroup", Fd: -1, Ours: true}) // which no process is in
		p := jailtest.Profile(t)
		p.Argv = append(p.Argv, jailtest.Args(t, []attacker.Attempt{attacker.Try("read", "/etc/hostname")})...)
		proc, err := confine.Launcher{Prepared: prepared}.Start(t.Context(), p, jail.Stdio{})
		testkit.Must(t, err)
		proc.Wait()
		if _, err := os.Stat(dir + "/cgroup"); !os.IsNotExist(err) {
			t.Errorf("%s is there (%v)", dir, err)
		}
	}
}

// TestJailEndsWhenLimitsCannotBeSet: the limits of a cgroup are loosened until the supervisor
// runs. If they cannot be set again, the jail ends and says why.
func TestJailEndsWhenLimitsCannotBeSet(t *testing.T) {
	jailtest.Needs(t)
	for _, holds := range []bool{true, false} {
		dir := testkit.Plant(t, "cgroup/pids.max")
		prepared := confine.Launcher{}.Prepare()
		testkit.Eventually(t, "it is there", func() bool { return prepared.Waiting().PID() > 0 })
		if !cgroup.Locate().None() {
			prepared.Close()
			t.Log("the jail's own is held to its limits: see TestJailCgroup")
			return
		}
		p := jailtest.Profile(t)
		p.Argv = append(p.Argv, jailtest.Args(t, []attacker.Attempt{attacker.Try("wait")})...)
		own := &cgroup.Cgroup{Dir: dir + "/cgroup", Fd: -1}
		if !holds {
			own.Dir += "/none"
		}
		prepared.Waiting().ReplaceCgroup(own)
		prepared.Waiting().Limit(policy.Limits{Processes: 40})
		proc, err := confine.Launcher{Prepared: prepared}.Start(t.Context(), p, jail.Stdio{})
		testkit.Must(t, err)
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
			t.Errorf("held %t: %+v", holds, exit)
		}
	}
}
