//go:build darwin || linux

package sandboxexec

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// fakeTable is a table whose processes a test sets.
type fakeTable struct {
	table    // nil: a family does not call the other methods
	all      []process
	sessions map[int]int
	killed   []int // a signal ends a process
	broken   error
}

func (t *fakeTable) processes() ([]process, error) { return slices.Clone(t.all), t.broken }
func (t *fakeTable) session(pid int) int           { return t.sessions[pid] }
func (t *fakeTable) follow(int)                    {}
func (t *fakeTable) close()                        {}

func (t *fakeTable) signal(pid int, sig unix.Signal) {
	if sig != unix.SIGKILL {
		return
	}
	t.killed = append(t.killed, pid)
	t.all = slices.DeleteFunc(t.all, func(p process) bool { return p.pid == pid })
}

// TestFamily: members are those of the session, their descendants, and each that was one once. No
// other process ever is: a member is killed.
func TestFamily(t *testing.T) {
	const root = 1 << 20 // above all process IDs
	table := &fakeTable{sessions: map[int]int{root: root, root + 1: root, root + 3: root + 3, root + 9: root}}
	f := newFamily(table, root)
	members := func() string {
		t.Helper()
		if _, err := f.refresh(); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(slices.Sorted(maps.Keys(f.known)))
	}
	expect := func(what string, want ...int) {
		t.Helper()
		if got := members(); got != fmt.Sprint(want) {
			t.Errorf("%s: %s, want %v", what, got, want)
		}
	}
	strangers := []process{{1, 0, 1}, {77, 0, 2}, {78, 1, 2}, {os.Getpid(), 77, 12}} // without a parent here; and this one, which is younger than the first
	alone := func(more ...process) []process { return append(slices.Clone(strangers), more...) }
	table.all = alone(process{root, 5, 10})
	expect("the first one", root)
	table.all = alone(process{root + 3, root + 2, 12}, process{root + 2, root, 11}, process{root, 5, 10})
	expect("descendants, a child before its parent", root, root+2, root+3)
	table.all = alone(process{root + 3, 1, 12}, process{root, 5, 10}, process{root + 1, 1, 13})
	expect("an orphan that was one, and an orphan of the session", root, root+1, root+3)
	table.all = alone(process{root + 3, 1, 99}, process{root, 5, 10})
	expect("its number is used again", root)
	table.all = alone(process{root, 5, 20}, process{root + 9, 1, 30})
	expect("the first number is used again, by another session")
}

// TestFamilyUnseen: a family whose first process had ended before the first look has no members. Its number may be
// another's later.
func TestFamilyUnseen(t *testing.T) {
	const root = 1 << 20
	table := &fakeTable{sessions: map[int]int{root: root}}
	f := newFamily(table, root)
	if _, err := f.refresh(); err != nil {
		t.Fatal(err)
	}
	table.all = []process{{root, 1, 20}}
	if f.kill(); len(table.killed) > 0 {
		t.Errorf("killed: %v", table.killed)
	}
}

// TestEndOfServerThatNoTableShows: the server's first process is ended although the table of processes lacks it.
func TestEndOfServerThatNoTableShows(t *testing.T) {
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	table := &fakeTable{}
	s := &supervisor{table: table, family: newFamily(table, cmd.Process.Pid), server: cmd.Process, exited: make(chan syscall.WaitStatus, 1)}
	s.reap()
	if s.endFamily(); s.server != nil {
		cmd.Process.Kill()
		t.Error("the server lives")
	}
}
