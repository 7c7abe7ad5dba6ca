package confine

import (
	"os"
	"strconv"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/stub"
)

// stubHere is a stub in the namespaces and the directory of this process.
func stubHere(t *testing.T) (task *stub.Task, pid int) {
	t.Helper()
	s, err := stub.New()
	if err != nil {
		t.Fatal(err)
	}
	prog, err := stub.Program()
	if err != nil {
		t.Fatal(err)
	}
	pid, err = syscall.ForkExec("/proc/self/fd/5", []string{"stub"}, &syscall.ProcAttr{Files: []uintptr{0, 1, 2, uintptr(s.Memory()), 0, uintptr(prog)}})
	if err != nil {
		t.Fatal(err)
	}
	s.Born()
	t.Cleanup(func() {
		unix.Kill(pid, unix.SIGKILL)
		unix.Wait4(pid, nil, 0, nil)
		s.Died()
		s.Free()
	})
	return s.First(), pid
}

// TestWalksByStub: names lead to the same places whoever walks along them, and nothing
// stays open.
func TestWalksByStub(t *testing.T) {
	dir := plant(t, "a/b/file", "a/.git/config", "a/up -> ..", "abs -> "+os.TempDir(), "loop -> loop", "dangling -> nowhere", "a/deep -> b/file")
	task, pid := stubHere(t)
	walk := func(task *stub.Task, name string) (full, object string, errno syscall.Errno) {
		own := func() int { return pid }
		w := &walker{t: task, own: !task.Local(), process: own, thread: own, open: func(dir int, name string) (int, syscall.Errno) {
			fd, err := task.Openat(dir, name, unix.O_PATH|unix.O_CLOEXEC, 0)
			return fd, asErrno(err)
		}}
		base, err := task.Openat(unix.AT_FDCWD, dir, unix.O_PATH|unix.O_CLOEXEC, 0) // by then it stands elsewhere
		if err != nil {
			t.Fatal(err)
		}
		defer task.Close(base)
		at, errno := w.find(base, name)
		defer at.close()
		if errno != 0 {
			return "", "", errno
		}
		full, errno = at.full()
		if errno != 0 {
			return "", "", errno
		}
		fd, errno := w.object(&at)
		if errno == 0 {
			defer task.Close(fd)
			object, errno = pathOf(task, fd)
		}
		return full, object, errno
	}
	open := func() int { return len(namesIn("/proc/" + strconv.Itoa(pid) + "/fd")) }
	walk(task, ".") // what it was born with is closed by then
	before := open()
	for _, name := range []string{
		".", "..", "/", "a/b/file", "a/b/../b//file", "a/b/file/", "a/up/a/deep", "abs/x", "loop", "loop/x", "dangling", "nowhere/x", "",
		"/proc/self/cwd/a/b/file", "/proc/self/status", "/proc/thread-self/status", "/proc/1/cwd/x", "/proc/self/fd/0",
	} {
		f1, o1, e1 := walk(&stub.Task{}, name)
		f2, o2, e2 := walk(task, name)
		if f1 != f2 || o1 != o2 || e1 != e2 {
			t.Errorf("%q: %q, %q, %v; of a stub %q, %q, %v", name, f1, o1, nilIfZero(e1), f2, o2, nilIfZero(e2))
		}
	}
	if after := open(); after != before {
		t.Errorf("%d more are open", after-before)
	}
	for _, c := range []struct {
		name string
		most int
		want bool
	}{{"a", 100, true}, {"a/b", 100, false}, {"a/b", 0, true}, {"a/b/file", 100, false}, {"a/up", 100, false}, {"nowhere", 100, true}} {
		for _, who := range []*stub.Task{{}, task} {
			left := c.most
			if got := protectedBelow(who, unix.AT_FDCWD, dir+"/"+c.name, &left); got != c.want {
				t.Errorf("protected below %s, of %d at most, looked at by this thread %t: %t", c.name, c.most, who.Local(), got)
			}
		}
	}
}
