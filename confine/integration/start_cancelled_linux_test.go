package integration

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/cgroup"
	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/confine/internal/probe"
	"github.com/mcp-jail/mcp-jail/confine/internal/step"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"golang.org/x/sys/unix"
)

// TestStartOfStoppedLauncherProcessIsCancelled: a start can be cancelled while the prepared
// process does not read, however long the spec is.
func TestStartOfStoppedLauncherProcessIsCancelled(t *testing.T) {
	jailtest.Needs(t)
	for _, size := range []int{0, 60 << 10, 1 << 20} {
		prepared := confine.Launcher{}.Prepare()
		testkit.Eventually(t, "it is there", func() bool { return prepared.Process.PID() > 0 })
		if err := unix.PidfdSendSignal(prepared.Process.Pidfd, unix.SIGSTOP, nil, 0); err != nil {
			t.Fatal(err)
		}
		p := jailtest.Profile(t)
		p.Env = append(p.Env, policy.Variable{Name: "LONG", Value: strings.Repeat("x", size)})
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error, 1)
		go func() {
			_, err := confine.Launcher{Prepared: prepared}.Start(ctx, p, jail.Stdio{})
			failed <- err
		}()
		time.Sleep(50 * time.Millisecond) // in the midst of it
		cancel()
		select {
		case err := <-failed:
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%d bytes: %v", size, err)
			}
		case <-time.After(testkit.Patience):
			t.Errorf("%d bytes: the start cannot be cancelled", size)
			unix.PidfdSendSignal(prepared.Process.Pidfd, unix.SIGKILL, nil, 0)
			<-failed
		}
	}
}

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
		testkit.Eventually(t, "it is there", func() bool { return prepared.Process.PID() > 0 })
		dir := testkit.Plant(t, "cgroup/")
		if prepared.Cgroup != nil {
			prepared.Cgroup.Remove()
		}
		prepared.Cgroup = &cgroup.Cgroup{Dir: dir + "/cgroup", Fd: -1, Ours: true} // which no process is in
		p := jailtest.Profile(t)
		p.Argv = append(p.Argv, jailtest.Args(t, []attacker.Attempt{attacker.Try("read", "/etc/hostname")})...)
		proc, err := confine.Launcher{Prepared: prepared}.Start(t.Context(), p, jail.Stdio{})
		if err != nil {
			t.Fatal(err)
		}
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
		testkit.Eventually(t, "it is there", func() bool { return prepared.Process.PID() > 0 })
		if !cgroup.Locate().None() {
			prepared.Close()
			t.Log("the jail's own is held to its limits: see TestJailCgroup")
			return
		}
		p := jailtest.Profile(t)
		p.Argv = append(p.Argv, jailtest.Args(t, []attacker.Attempt{attacker.Try("wait")})...)
		prepared.Cgroup = &cgroup.Cgroup{Dir: dir + "/cgroup", Fd: -1}
		if !holds {
			prepared.Cgroup.Dir += "/none"
		}
		prepared.Process.Mu.Lock()
		prepared.Process.Cgroup, prepared.Process.Limits = prepared.Cgroup, policy.Limits{Processes: 40}
		prepared.Process.Mu.Unlock()
		proc, err := confine.Launcher{Prepared: prepared}.Start(t.Context(), p, jail.Stdio{})
		if err != nil {
			t.Fatal(err)
		}
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

// TestSpecCannotBeSent: if the kernel refuses to pass the server's descriptors, the start fails
// and does not wait.
func TestSpecCannotBeSent(t *testing.T) {
	jailtest.Needs(t)
	closed, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	for kind, namespaces := range map[string]probe.Feature{confine.KindNamespaced: probe.Available(""), confine.KindHostNS: probe.Unavailable("for this test", "")} {
		for _, size := range []int{0, 1 << 20} {
			p := jailtest.Profile(t)
			p.Env = append(p.Env, policy.Variable{Name: "LONG", Value: strings.Repeat("x", size)})
			plan, err := jailtest.WaivesGaps.CompileOn(p, probe.Detect().WithUserNS(namespaces))
			if err != nil {
				t.Fatal(err)
			}
			jailtest.Within(t, "the end of the start", func() {
				_, err := confine.Launcher{}.Spawn(kind).Start(t.Context(), plan, jail.Stdio{Out: closed})
				var se *step.Error
				if !errors.As(err, &se) || se.Step != step.Spec || se.Errno != unix.EBADF {
					t.Errorf("%s, %d bytes: %v", kind, size, err)
				}
			})
		}
	}
}
