//go:build !seatbelt

package confine_test

import (
	"slices"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"golang.org/x/sys/unix"
)

// poolOf returns a pool and the IDs of their supervisor processes.
func poolOf(t *testing.T, n int) (*confine.PreparedPool, []int) {
	t.Helper()
	jailtest.Needs(t)
	s := confine.NewPool(confine.Launcher{})
	t.Cleanup(s.Close)
	s.Keep(n)
	var pids []int
	testkit.Eventually(t, "the processes are there", func() bool {
		pids = s.PIDs()
		return len(pids) == n && !slices.Contains(pids, 0)
	})
	return s, pids
}

// startBy starts a server by this pool and returns the ID of its supervisor process.
func startBy(t *testing.T, s *confine.PreparedPool) int {
	t.Helper()
	started := jailtest.BeginBy(t, confine.Launcher{Pool: s}, jailtest.Profile(t), attacker.Try("cwd"))
	defer started.Finish()
	return started.PID()
}

func alive(pid int) bool { return unix.Kill(pid, 0) == nil }

// TestPreparedServesOnce: each process serves one start. The start after the last of them has a process of its own.
func TestPreparedServesOnce(t *testing.T) {
	s, pids := poolOf(t, 2)
	for i := range 3 {
		pid := startBy(t, s)
		if is := slices.Contains(pids, pid); is != (i < 2) {
			t.Errorf("start %d: by a prepared process: %t", i, is)
		}
		pids = slices.DeleteFunc(pids, func(other int) bool { return other == pid })
	}
}

// TestPreparedEnds: what is too many, and what is left at the end, is gone.
func TestPreparedEnds(t *testing.T) {
	s, pids := poolOf(t, 3)
	s.Keep(1)
	testkit.Eventually(t, "two are gone", func() bool {
		return !alive(pids[1]) && !alive(pids[2])
	})
	if !alive(pids[0]) {
		t.Error("the third is gone, too")
	}
	s.Close()
	if alive(pids[0]) {
		t.Error("it lives after Close")
	}
	if s.Keep(1); len(s.PIDs()) > 0 {
		t.Error("a process after Close")
	}
}

// TestPreparedThatEnded: a start does not get a process that has ended, and no other is started in its place.
func TestPreparedThatEnded(t *testing.T) {
	s, pids := poolOf(t, 1)
	pidfd, err := unix.PidfdOpen(pids[0], 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pidfd)
	if err := unix.PidfdSendSignal(pidfd, unix.SIGKILL, nil, 0); err != nil {
		t.Fatal(err)
	}
	if !sys.WaitReadable(pidfd, int(testkit.Patience.Milliseconds())) {
		t.Fatal("it lives after SIGKILL")
	}
	startBy(t, s)
	testkit.Eventually(t, "it is gone", func() bool { return !alive(pids[0]) })
	if s.Keep(1); len(s.PIDs()) > 0 {
		t.Error("there is another process")
	}
}
