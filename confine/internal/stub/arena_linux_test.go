package stub

import (
	"testing"

	"golang.org/x/sys/unix"
)

// TestArena checks that what fits is aligned and apart, and that what does not fit is noted until the
// arena is emptied.
func TestArena(t *testing.T) {
	a := arena{memory: make([]byte, 32)}
	first, second := a.alloc(5), a.alloc(16)
	if address(second)-address(first) != 8 || cap(first) != 5 || a.full {
		t.Errorf("%d bytes apart, room for %d, full: %t", address(second)-address(first), cap(first), a.full)
	}
	if extra := a.alloc(9); len(extra) != 9 || !a.full {
		t.Errorf("%d bytes beyond its end, full: %t", len(extra), a.full)
	}
	a.reset()
	if again := a.alloc(5); a.full || address(again) != address(first) {
		t.Error("it is not empty")
	}
	task := &Task{arena: a}
	task.Path("a\x00b")
	if !task.arena.full {
		t.Error("it takes a path with a NUL")
	}
	if _, err := task.Call(unix.SYS_GETPID); err != unix.ENOMEM {
		t.Errorf("a call with a full arena: %v", err)
	}
	task.arena.reset()
	if pid, err := task.Call(unix.SYS_GETPID); err != nil || pid == 0 {
		t.Errorf("control: %d, %v", pid, err)
	}
}
