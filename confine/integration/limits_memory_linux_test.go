package integration

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/confine/internal/kernel"
	"github.com/mcp-jail/mcp-jail/confine/internal/kernel/kerneltest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestJailEndsWhenMemoryCannotBeRead: a jail whose memory cannot be read ends.
func TestJailEndsWhenMemoryCannotBeRead(t *testing.T) {
	jailtest.Needs(t)
	kerneltest.Needs(t, "fresh_proc")
	fault := blindness()
	dir := testkit.Plant(t)
	for _, blind := range []bool{true, false} {
		t.Run(fmt.Sprintf("blind %t", blind), func(t *testing.T) {
			l := confine.Launcher{SupervisorPath: jailtest.Binary}
			if blind {
				l.TestHooks.Steps = fault.strike
			} else if err := os.WriteFile(dir+"/go", nil, 0o644); err != nil {
				t.Fatal(err)
			}
			s := jailtest.BeginBy(t, l, limited(t, policy.Limits{MemoryMB: 512}, jailtest.Grant{Path: dir, Rights: r}), attacker.Try("await", dir+"/go"))
			exit := s.Finish()
			told := slices.ContainsFunc(s.Denials(), func(d policy.Denial) bool { return strings.Contains(d.Operation, "cannot be watched") })
			if told != blind || (exit.Signal == unix.SIGKILL) != blind || strings.Contains(s.Out.String(), attacker.Succeeded) == blind {
				t.Errorf("exit %+v, %q, denials %+v", exit, s.Out, s.Denials())
			}
		})
	}
}

// TestJailMemoryOfManyChildren checks that many processes, each started again when it ends,
// cannot keep the jail over its limit. The kernel keeps a cgroup below it. Without a cgroup the
// jail ends.
func TestJailMemoryOfManyChildren(t *testing.T) {
	jailtest.Needs(t)
	kerneltest.Needs(t, "fresh_proc")
	seconds := "60" // longer than it takes to end the jail
	held := !kernel.LocateCgroup().None()
	if held {
		seconds = "8"
	}
	for _, c := range []struct {
		name    string
		what    attacker.Attempt
		limit   int // MB
		exceeds bool
		long    bool // only the long form has it
	}{
		{"sleeping", attacker.Try("swarm", "40", "15", seconds), 120, true, false},
		{"small", attacker.Try("swarm", "60", "10", seconds), 120, true, true},
		{"busy in sessions of their own", attacker.Try("swarm", "40", "15", seconds, "busy"), 120, true, false},
		{"control", attacker.Try("swarm", "40", "15", "2"), 1024, false, false},
		{"control, busy", attacker.Try("swarm", "40", "15", "2", "busy"), 1024, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.long {
				testkit.NeedsLong(t)
			}
			s := jailtest.Begin(t, limited(t, policy.Limits{MemoryMB: c.limit}), c.what)
			s.Finish()
			told := slices.ContainsFunc(s.Denials(), func(d policy.Denial) bool {
				return d.Axis == policy.AxisLimits && strings.HasPrefix(d.Operation, "memory") && d.Target == "memory_mb = "+strconv.Itoa(c.limit)
			})
			testkit.Equal(t, fmt.Sprintf("denials %+v", s.Denials()), told, c.exceeds)
			lived := strings.Contains(s.Out.String(), attacker.Succeeded)
			switch {
			case !c.exceeds && !lived:
				t.Errorf("the jail ended below its limit: %.300q", s.Errs.Text)
			case c.exceeds && lived && !held:
				t.Error("the jail was over its limit for a minute, and did not end")
			}
		})
	}
	jailtest.Expect(t, "without a jail", jailtest.Unconfined(t, "/", attacker.Try("swarm", "40", "15", "1"))[0], attacker.Succeeded)
}

// TestJailGreedyChild checks what happens when children exceed the limit of memory: a cgroup
// ends the child, and its server goes on. Without a cgroup the sampler ends the jail.
func TestJailGreedyChild(t *testing.T) {
	jailtest.Needs(t)
	kerneltest.Needs(t, "fresh_proc")
	s := jailtest.Begin(t, limited(t, policy.Limits{MemoryMB: 64}), attacker.Try("glutton", "8", "100"))
	exit := s.Finish()
	lives := strings.Contains(s.Out.String(), attacker.Succeeded+" 8")
	if limited := !kernel.LocateCgroup().None(); lives != limited || (exit.Signal == syscall.SIGKILL) == limited {
		t.Errorf("cgroup %v: %s, %+v, denials %+v, %.300q", limited, s.Out, exit, s.Denials(), s.Errs.Text)
	}
	testkit.Equal(t, fmt.Sprintf("denials %+v", s.Denials()), denied(s.Process, "memory").Target, "memory_mb = 64")
}
