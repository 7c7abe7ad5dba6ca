package integration

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"golang.org/x/sys/unix"
)

// TestJailSupervisorKilled: if the supervisor is killed or cannot start, the jail ends and
// Exit.Why says so. If the launcher ends the jail, Exit.Why is empty.
func TestJailSupervisorKilled(t *testing.T) {
	jailtest.Needs(t)
	for _, c := range []struct {
		name, why string
		end       func(*confine.Process)
	}{
		{"killed", "the jail's init or supervisor died", func(p *confine.Process) { unix.Kill(p.PID(), unix.SIGKILL) }},
		{"supervised, and killed", "the jail's init or supervisor died", func(p *confine.Process) {
			testkit.Eventually(t, "its supervisor", p.IsSupervised)
			unix.Kill(p.PID(), unix.SIGKILL)
		}},
		{"no room for descriptors", "step supervision failed: invalid argument", func(p *confine.Process) {
			if err := unix.Prlimit(p.PID(), unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 3, Max: 3}, nil); err != nil {
				t.Error(err)
			}
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

// TestHostNSInitKilledOrToldToEnd is TestJailSupervisorKilled without namespaces.
func TestHostNSInitKilledOrToldToEnd(t *testing.T) {
	jailtest.NeedsHostNS(t)
	for _, told := range []bool{false, true} {
		s := jailtest.BeginBy(t, jailtest.WaivesGaps, jailtest.Profile(t), attacker.Try("wait"))
		if told {
			s.Kill()
		} else {
			unix.Kill(s.PID(), unix.SIGKILL)
		}
		if exit := s.Finish(); exit.Signal != unix.SIGKILL || told != (exit.Why == "") {
			t.Errorf("told %t: %+v", told, exit)
		}
	}
}

// TestJailNullDevice: the device that stands for a missing stdin is not the host's /dev/null,
// which all processes share.
func TestJailNullDevice(t *testing.T) {
	jailtest.Needs(t)
	ownNull(t, confine.Launcher{}, "EROFS")
	callByCall := func(_ *jail.Builder, steps []jail.Step) []jail.Step { return steps }
	ownNull(t, confine.Launcher{TestHooks: jail.TestHooks{Steps: callByCall}}, "EROFS")
}

// TestHostNSNullDevice is TestJailNullDevice without namespaces.
func TestHostNSNullDevice(t *testing.T) {
	jailtest.NeedsHostNS(t)
	ownNull(t, jailtest.WaivesGaps, "EACCES")
}

func ownNull(t *testing.T, l confine.Launcher, errno string) {
	t.Helper()
	var null unix.Stat_t
	if err := unix.Stat("/dev/null", &null); err != nil {
		t.Fatal(err)
	}
	if int(null.Uid) == os.Getuid() { // an ordinary user, and its user namespace, may not change it in any case
		jailtest.Expect(t, "the control", jailtest.Unconfined(t, "/", attacker.Try("null"))[0], "ok fchmod <nil> fchown <nil>")
	}
	got, err := jailtest.Run(t, l, jailtest.Profile(t), []attacker.Attempt{attacker.Try("null")})
	if want := attacker.Outcome(fmt.Sprintf("ok fchmod %[1]s fchown %[1]s", errno)); err != nil || got[0] != want {
		t.Errorf("%v, %v", got, err)
	}
}

// TestJailSupervisorCannotPoll: a server that uses up the user's epoll watches keeps the
// supervisor from starting. The jail ends and says why.
func TestJailSupervisorCannotPoll(t *testing.T) {
	jailtest.Needs(t)
	f := fault{call: unix.SYS_EPOLL_CTL, errno: unix.ENOSPC}
	for _, struck := range []bool{false, true} {
		var l confine.Launcher
		if struck {
			l.TestHooks.Steps = f.strike
		}
		dir := testkit.Plant(t)
		p := jailtest.Profile(t, jailtest.Grant{Path: dir, Rights: rw}) // of a program that has no need of epoll itself
		p.Program, p.Argv = "/bin/sh", []string{"sh", "-c", "mkdir " + dir + "/new; exit 3"}
		var out, errs bytes.Buffer
		proc, wait, err := jailtest.Start(t, l, p, &out, &errs)
		if err != nil {
			t.Fatal(err)
		}
		exit, _ := proc.Wait()
		wait()
		// The calls of a struck one may fail with ENOSYS before it is ended, and it may say so.
		if struck && !strings.Contains(exit.Why, "fs.epoll.max_user_watches") || !struck && (exit != (confine.Exit{Code: 3}) || out.Len()+errs.Len() > 0) {
			t.Errorf("struck %v: %+v, %s%s", struck, exit, out.String(), errs.String())
		}
	}
}
