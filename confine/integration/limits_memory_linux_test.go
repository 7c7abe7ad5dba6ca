package integration

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/cgroup"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/confine/internal/probe/probetest"
	"github.com/mcp-jail/mcp-jail/confine/internal/proc"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"golang.org/x/sys/unix"
)

// TestJailEndsWhenMemoryCannotBeRead: a limit that nobody watches is none.
func TestJailEndsWhenMemoryCannotBeRead(t *testing.T) {
	jailtest.Needs(t)
	probetest.Needs(t, "fresh_proc")
	fault := blindness()
	dir := testkit.Plant(t)
	for _, blind := range []bool{true, false} {
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
			t.Errorf("blind %t: exit %+v, %q, denials %+v", blind, exit, s.Out, s.Denials())
		}
	}
}

// TestJailMemoryOfManyChildren checks that many processes cannot keep the jail over its limit.
func TestJailMemoryOfManyChildren(t *testing.T) {
	jailtest.Needs(t)
	probetest.Needs(t, "fresh_proc")
	for _, c := range []struct {
		name  string
		what  attacker.Attempt
		limit int // MB
		ends  bool
	}{
		{"sleeping", attacker.Try("swarm", "40", "15", "8"), 120, true},
		{"small", attacker.Try("swarm", "60", "10", "8"), 120, true},
		{"busy in sessions of their own", attacker.Try("swarm", "40", "15", "8", "busy"), 120, true},
		{"control", attacker.Try("swarm", "40", "15", "2"), 1024, false},
		{"control, busy", attacker.Try("swarm", "40", "15", "2", "busy"), 1024, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := jailtest.Begin(t, limited(t, policy.Limits{MemoryMB: c.limit}), c.what)
			used := usedUntilDone(s.Process)
			s.Finish()
			median := used[len(used)/2]
			t.Logf("%d samples: median %d MB, most %d MB; denials %.600s", len(used), median, used[len(used)-1], fmt.Sprint(s.Denials()))
			told := slices.ContainsFunc(s.Denials(), func(d policy.Denial) bool {
				return d.Axis == policy.AxisLimits && strings.HasPrefix(d.Operation, "memory") && d.Target == "memory_mb = "+strconv.Itoa(c.limit)
			})
			if told != c.ends {
				t.Errorf("denials %+v", s.Denials())
			}
			lived := strings.Contains(s.Out.String(), attacker.Succeeded)
			if !c.ends && !lived {
				t.Errorf("it ended below its limit: %.300q", s.Errs.Text)
			}
			if c.ends && lived && median > c.limit {
				t.Errorf("it was at %d MB of %d half of the time, and lived", median, c.limit)
			}
		})
	}
	jailtest.Expect(t, "without a jail", jailtest.Unconfined(t, "/", attacker.Try("swarm", "40", "15", "1"))[0], attacker.Succeeded)
}

// usedUntilDone is what the jail used, in MB, as the host sees it, from little to much.
func usedUntilDone(p *confine.Process) (used []int) {
	for {
		var all int64 // kB
		pids, _ := from(p.PID())
		for _, pid := range pids {
			rollup, _ := os.ReadFile("/proc/" + pid + "/smaps_rollup")
			proc.ParseNumbers(rollup, func(name string, n int64) {
				if name == "Pss" || name == "SwapPss" {
					all += n
				}
			})
		}
		used = append(used, int(all>>10))
		select {
		case <-p.Done():
			slices.Sort(used)
			return used
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// from are the numbers of the processes that come from another one.
func from(ancestor int) (pids []string, err error) {
	of, err := proc.ParentPIDs()
	for pid := range of {
		up := of[pid]
		for up > 1 && up != ancestor {
			up = of[up]
		}
		if up == ancestor {
			pids = append(pids, strconv.Itoa(pid))
		}
	}
	return pids, err
}

// TestJailGreedyChild checks what happens when children exceed the limit of memory: a cgroup
// ends the child, and its server goes on. Without a cgroup the sampler ends the jail.
func TestJailGreedyChild(t *testing.T) {
	jailtest.Needs(t)
	probetest.Needs(t, "fresh_proc")
	s := jailtest.Begin(t, limited(t, policy.Limits{MemoryMB: 64}), attacker.Try("glutton", "8", "100"))
	exit := s.Finish()
	lives := strings.Contains(s.Out.String(), attacker.Succeeded+" 8")
	if limited := !cgroup.Locate().None(); lives != limited || (exit.Signal == syscall.SIGKILL) == limited {
		t.Errorf("cgroup %v: %s, %+v, denials %+v, %.300q", limited, s.Out, exit, s.Denials(), s.Errs.Text)
	}
	if d := denied(s.Process, "memory"); d.Target != "memory_mb = 64" {
		t.Errorf("denials %+v", s.Denials())
	}
}
