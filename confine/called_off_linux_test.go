package confine

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestStartCalledOff: a start whose shim does not read is called off, however long the
// order is.
func TestStartCalledOff(t *testing.T) {
	needsJail(t)
	for _, size := range []int{0, 60 << 10, 1 << 20} {
		shim := Launcher{}.Prepare()
		testkit.Eventually(t, "it is there", func() bool { return shim.process.PID() > 0 })
		if err := unix.PidfdSendSignal(shim.process.pidfd, unix.SIGSTOP, nil, 0); err != nil {
			t.Fatal(err)
		}
		p := jailProfile(t)
		p.Env = append(p.Env, policy.Variable{Name: "LONG", Value: strings.Repeat("x", size)})
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error, 1)
		go func() {
			_, err := Launcher{Ready: shim}.Start(ctx, p, Stdio{})
			failed <- err
		}()
		time.Sleep(50 * time.Millisecond) // in the midst of it
		cancel()
		select {
		case err := <-failed:
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%d bytes: %v", size, err)
			}
		case <-time.After(20 * time.Second):
			t.Errorf("%d bytes: nobody can call the start off", size)
			unix.PidfdSendSignal(shim.process.pidfd, unix.SIGKILL, nil, 0)
			<-failed
		}
	}
}

// TestEndLeavesNoCgroup: the jail is over when its cgroup is removed, also where the plan
// does not count on one.
func TestEndLeavesNoCgroup(t *testing.T) {
	needsJail(t)
	if place := cgroupHere(); !place.none() {
		t.Logf("every plan here counts on one (%+v): see TestJailCgroup", place)
		return
	}
	for range 5 {
		shim := Launcher{}.Prepare()
		testkit.Eventually(t, "it is there", func() bool { return shim.process.PID() > 0 })
		dir := testkit.Plant(t, "cgroup/")
		if shim.cgroup != nil {
			shim.cgroup.remove()
		}
		shim.cgroup = &jailCgroup{dir: dir + "/cgroup", fd: -1, ours: true} // which no process is in
		p := jailProfile(t)
		p.Argv = append(p.Argv, probeArgs(t, []attempt{try("read", "/etc/hostname")})...)
		proc, err := Launcher{Ready: shim}.Start(t.Context(), p, Stdio{})
		if err != nil {
			t.Fatal(err)
		}
		proc.Wait()
		if _, err := os.Stat(dir + "/cgroup"); !os.IsNotExist(err) {
			t.Errorf("%s is there (%v)", dir, err)
		}
	}
}

// TestJailEndsWithoutItsLimits: where the cgroup cannot be told to hold the limit that was
// loosened until there is a supervisor, the jail ends, and says why.
func TestJailEndsWithoutItsLimits(t *testing.T) {
	needsJail(t)
	for _, holds := range []bool{true, false} {
		dir := testkit.Plant(t, "cgroup/pids.max")
		shim := Launcher{}.Prepare()
		testkit.Eventually(t, "it is there", func() bool { return shim.process.PID() > 0 })
		if !cgroupHere().none() {
			shim.Discard()
			t.Log("the jail's own is held to its limits: see TestJailCgroup")
			return
		}
		p := jailProfile(t)
		p.Argv = append(p.Argv, probeArgs(t, []attempt{try("wait")})...)
		shim.cgroup = &jailCgroup{dir: dir + "/cgroup", fd: -1}
		if !holds {
			shim.cgroup.dir += "/none"
		}
		shim.process.mu.Lock()
		shim.process.cgroup, shim.process.limits = shim.cgroup, policy.Limits{Processes: 40}
		shim.process.mu.Unlock()
		proc, err := Launcher{Ready: shim}.Start(t.Context(), p, Stdio{})
		if err != nil {
			t.Fatal(err)
		}
		if holds {
			testkit.Eventually(t, "its supervisor", proc.isSupervised)
			proc.Kill()
		}
		select {
		case <-proc.Done():
		case <-time.After(20 * time.Second):
			t.Error("it does not end")
			proc.Kill()
		}
		if exit, _ := proc.Wait(); exit.Signal != unix.SIGKILL || holds != (exit.Why == "") || !holds && !strings.Contains(exit.Why, "pids.max") {
			t.Errorf("held %t: %+v", holds, exit)
		}
	}
}

// TestOrderCannotBeSent: where the kernel refuses to pass the server's descriptors on, the
// start fails, and does not wait for a shim that waits.
func TestOrderCannotBeSent(t *testing.T) {
	needsJail(t)
	closed, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	for kind, namespaces := range map[string]Feature{shimOwnNet: available(""), shimBare: unavailable("for this test", "")} {
		for _, size := range []int{0, 1 << 20} {
			p := jailProfile(t)
			p.Env = append(p.Env, policy.Variable{Name: "LONG", Value: strings.Repeat("x", size)})
			plan, err := allGaps.compileOn(p, hostFacts().with(namespaces))
			if err != nil {
				t.Fatal(err)
			}
			within(t, "the end of the start", func() {
				_, err := Launcher{}.spawn(kind).start(t.Context(), plan, Stdio{Out: closed})
				var se *StartError
				if !errors.As(err, &se) || se.Step != "order" || se.Errno != unix.EBADF {
					t.Errorf("%s, %d bytes: %v", kind, size, err)
				}
			})
		}
	}
}
