package stub

import (
	"encoding/binary"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Child is the task with that number, which is not there yet. Of each number there may be
// one at a time. A call can be posted to it already, which is what it does first.
func (t *Task) Child(number int) *Task {
	child := t.stub.task(number)
	*child.b = box{turn: ours}
	return child
}

// Fork makes a child process of the task. They share their memory, and what the flags of
// clone(2) say besides. The number is the one that the task knows the child by.
func (t *Task) Fork(child *Task, flags uintptr) (pid, pidfd int, err error) {
	t.begin()
	at := t.space(4)
	pid, err = t.clone(child, flags|uintptr(unix.SIGCHLD)|unix.CLONE_PIDFD, address(at))
	return pid, int(int32(binary.NativeEndian.Uint32(at))), err
}

// Thread makes another thread of the task's process. They share the table of descriptors,
// the working directory and the root.
func (t *Task) Thread(thread *Task) error {
	const shared = unix.CLONE_THREAD | unix.CLONE_SIGHAND | unix.CLONE_FILES | unix.CLONE_FS | unix.CLONE_SYSVSEM
	_, err := t.clone(thread, shared, 0)
	return err
}

// Eager has the task look for another call for a while after each, some 20 ns for each
// look, before it sleeps. Waking it takes longer than most calls do.
func (t *Task) Eager(looks uint32) {
	if t.b != nil {
		t.b.eager = looks
	}
}

func (t *Task) clone(other *Task, flags, parentTID uintptr) (int, error) {
	box := uintptr(unsafe.Pointer(other.b))
	a := cloneArgs(flags|unix.CLONE_VM|unix.CLONE_CHILD_CLEARTID, box, parentTID, box)
	return t.call(unix.SYS_CLONE, a[:]...)
}

// Exec has the task execute a program, and returns when it is executed or could not be. A
// nil error says only that the task is none any more: it may have ended.
func (t *Task) Exec(path string, argv, env []string) error {
	t.begin()
	p, a, e := t.text(path), t.texts(argv), t.texts(env)
	if t.full {
		return unix.E2BIG
	}
	_, err := t.Call(unix.SYS_EXECVE, p, a, e)
	if err == errGone && !t.stub.dead.Load() {
		return nil
	}
	return err
}

// Exit ends the task's whole process, and does not wait for that.
func (t *Task) Exit(code int) { t.post(unix.SYS_EXIT_GROUP, [6]uintptr{uintptr(code)}) }

// Post begins a call that [Task.Done] waits for: meanwhile other tasks can be asked.
func (t *Task) Post(nr uintptr, args ...uintptr) {
	var a [6]uintptr
	copy(a[:], args)
	t.post(nr, a)
}

// Done waits for what Post began.
func (t *Task) Done() error {
	_, err := t.result()
	return err
}

// PostUnmount is [Task.Post] of umount2(2).
func (t *Task) PostUnmount(path string, flags int) {
	t.begin()
	t.Post(unix.SYS_UMOUNT2, t.path(path), uintptr(flags))
}

// HoldRoom opens a descriptor with that number or a higher one, which the execution of a
// program closes. The table that it is in stays as large.
func (t *Task) HoldRoom(number int) error {
	return t.do(unix.SYS_FCNTL, 0, unix.F_DUPFD_CLOEXEC, uintptr(number))
}
