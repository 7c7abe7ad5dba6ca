package integration

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/confine/internal/plan"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestJailSupervisorKilled: if the supervisor is killed or cannot start, the jail ends and
// Exit.Why says so. If the launcher ends the jail, Exit.Why is empty.
func TestJailSupervisorKilled(t *testing.T) {
	jailtest.Needs(t)
	for _, c := range []struct {
		name, why string
		end       func(*confine.Process)
	}{
		{"killed", "mcp-jail that the jail needs has died", func(p *confine.Process) { unix.Kill(p.PID(), unix.SIGKILL) }},
		{"supervised, and killed", "mcp-jail that the jail needs has died", func(p *confine.Process) {
			testkit.Eventually(t, "its supervisor", func() bool {
				return strings.Contains(sys.ReadLine(fmt.Sprintf("/proc/%d/cmdline", p.PID())), spec.ArgSupervise)
			})
			unix.Kill(p.PID(), unix.SIGKILL)
		}},
		{"no room for descriptors", "step supervision failed: invalid argument", func(p *confine.Process) {
			testkit.Works(t, "", unix.Prlimit(p.PID(), unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 3, Max: 3}, nil))
		}},
		{"told to end", "", func(p *confine.Process) { p.Kill() }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := jailtest.Begin(t, limited(t, policy.Limits{Processes: policy.DefaultLimits.Processes}), attacker.Try("wait"))
			c.end(s.Process)
			select {
			case <-s.Done():
			case <-time.After(testkit.Patience):
				t.Error("it does not end")
				s.Kill()
			}
			exit := s.Finish()
			if exit.Signal != unix.SIGKILL || c.why == "" && exit.Why != "" || !strings.Contains(exit.Why, c.why) {
				t.Errorf("%+v", exit)
			}
		})
	}
}

// TestJailSupervisorCannotPoll: a server that uses up the user's epoll watches keeps the
// supervisor from starting. The jail ends and says why: at its end, or, if the supervisor gives up
// before Start has returned, as the error of Start.
func TestJailSupervisorCannotPoll(t *testing.T) {
	jailtest.Needs(t)
	const why = "fs.epoll.max_user_watches"
	f := fault{call: unix.SYS_EPOLL_CTL, errno: unix.ENOSPC}
	for _, c := range []struct{ struck, early bool }{{false, false}, {true, false}, {true, true}} {
		var l confine.Launcher
		if c.struck {
			l.TestHooks.Steps = f.strike
		}
		if c.early {
			l.TestHooks.Executed = func(b *jail.Builder) {
				for end := time.Now().Add(testkit.Patience); !b.Init.Ended() && time.Now().Before(end); {
					time.Sleep(time.Millisecond)
				}
			}
		}
		dir := testkit.Plant(t)
		p := jailtest.Profile(t, jailtest.Grant{Path: dir, Rights: rw}) // of a program that has no need of epoll itself
		p.Program, p.Argv = "/bin/sh", []string{"sh", "-c", "mkdir " + dir + "/new; exit 3"}
		var out, errs bytes.Buffer
		process, wait, err := jailtest.Start(t, l, p, &out, &errs)
		if err != nil { // the supervisor may always be that early
			if !c.struck || !strings.Contains(err.Error(), why) {
				t.Errorf("%+v: %v", c, err)
			}
			continue
		}
		exit, _ := process.Wait()
		wait()
		// The calls of a struck one may fail with ENOSYS before it is ended, and it may say so.
		if c.early || c.struck && !strings.Contains(exit.Why, why) || !c.struck && (exit != (confine.Exit{Code: 3}) || out.Len()+errs.Len() > 0) {
			t.Errorf("%+v: %+v, %s%s", c, exit, out.String(), errs.String())
		}
	}
}

// TestJailSupervisorGivesUp: if a running supervisor cannot carry out mediated calls, the jail ends
// and says why.
func TestJailSupervisorGivesUp(t *testing.T) {
	jailtest.Needs(t)
	noThreads := fault{call: unix.SYS_LANDLOCK_RESTRICT_SELF, when: []uint32{spec.RulesetFD}, errno: unix.ENOMEM} // of the threads that carry out calls
	for _, struck := range []bool{false, true} {
		t.Run(fmt.Sprintf("struck %t", struck), func(t *testing.T) {
			var l confine.Launcher
			if struck {
				l.TestHooks.Steps = noThreads.strike
			}
			dir := testkit.Plant(t)
			p := jailtest.Profile(t, jailtest.Grant{Path: dir, Rights: rw})
			p.Program, p.Argv = "/bin/sh", []string{"sh", "-c", "mkdir " + dir + "/new; exit 3"}
			var out, errs bytes.Buffer
			process, wait, err := jailtest.Start(t, l, p, &out, &errs)
			testkit.Must(t, err)
			select {
			case <-process.Done():
			case <-time.After(testkit.Patience):
				t.Error("it does not end")
				process.Kill()
			}
			exit, _ := process.Wait()
			wait()
			if struck && (exit.Signal != unix.SIGKILL || exit.Why != "step landlock failed: cannot allocate memory") || !struck && exit != (confine.Exit{Code: 3}) {
				t.Errorf("%+v, %s%s", exit, out.String(), errs.String())
			}
		})
	}
}

// TestHostNSSupervisorIsKilled: the supervisor is not PID 1 of a namespace. If it is killed, its program
// ends, the launcher removes the files of the jail, and detached processes survive. The plan has
// that as a gap.
func TestHostNSSupervisorIsKilled(t *testing.T) {
	jailtest.NeedsHostNS(t)
	s := jailtest.BeginBy(t, jailtest.WaivesGaps, jailtest.Profile(t), attacker.Try("daemon", "0s"), attacker.Try("wait"))
	s.Errs.Await(t, "daemon")
	unix.Kill(s.PID(), unix.SIGKILL)
	exit, _ := s.Wait()
	if exit.Code != 137 || exit.Signal != syscall.SIGKILL || !strings.Contains(exit.Why, "a part of mcp-jail that the jail needs has died") {
		t.Errorf("%+v", exit)
	}
	if _, err := os.Lstat(s.Plan().Spec.TempDir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is left: %v", s.Plan().Spec.TempDir, err)
	}
	jailtest.Within(t, "the end of the one that waits for it", s.Ends)
	if gaps := s.Plan().Gaps; !slices.ContainsFunc(gaps, func(g plan.Gap) bool {
		return g.Axis == policy.AxisProcess && strings.Contains(g.What, "survives") && g.Waived
	}) {
		t.Errorf("%+v", gaps)
	}
}
