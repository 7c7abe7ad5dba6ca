package stub

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// running is a stub, with our end of its life.
type running struct {
	*Stub
	pid  int
	life *os.File
}

func start(t *testing.T, sys *syscall.SysProcAttr) *running {
	t.Helper()
	s, err := New()
	if err != nil {
		t.Fatal(err)
	}
	program, err := Program()
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	pid, err := syscall.ForkExec("/proc/self/fd/5", []string{memfdName}, &syscall.ProcAttr{
		Files: []uintptr{0, 1, 2, uintptr(s.Memory()), theirs.Fd(), uintptr(program)}, Sys: sys,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.CloseMemory()
	r := &running{s, pid, ours}
	t.Cleanup(func() {
		ours.Close()
		unix.Kill(pid, unix.SIGKILL)
		unix.Wait4(pid, nil, 0, nil)
		s.MarkExited()
		if err := s.Free(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// ended has a process end with the test that a stub forked: they outlive it.
func ended(t *testing.T, pid int) {
	t.Cleanup(func() { unix.Kill(pid, unix.SIGKILL) })
}

// TestCall: what a task does happens in its process, and errors are the kernel's.
func TestCall(t *testing.T) {
	r := start(t, nil)
	task := r.First()
	if pid, err := task.Call(unix.SYS_GETPID); err != nil || int(pid) != r.pid {
		t.Errorf("%d, %v; it is %d", pid, err, r.pid)
	}
	dir := t.TempDir()
	if err := task.Mkdirat(unix.AT_FDCWD, dir+"/made", 0o700); err != nil {
		t.Error(err)
	}
	if err := task.Mkdirat(unix.AT_FDCWD, dir+"/made", 0o700); err != unix.EEXIST {
		t.Errorf("%v for a directory that is there", err)
	}
	fd, err := task.Openat(unix.AT_FDCWD, dir+"/file", unix.O_RDWR|unix.O_CREAT, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	// Of numbers of descriptors this process knows nothing.
	if link, err := os.Readlink("/proc/" + strconv.Itoa(r.pid) + "/fd/" + strconv.Itoa(fd)); err != nil || link != dir+"/file" {
		t.Errorf("%q, %v", link, err)
	}
	long := strings.Repeat("x", arenaSize/2)
	if n, err := task.Write(fd, []byte(long)); err != nil || n != len(long) {
		t.Errorf("%d bytes, %v", n, err)
	}
	if got, err := os.ReadFile(dir + "/file"); err != nil || string(got) != long {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if _, err := task.Openat(unix.AT_FDCWD, dir+"/made\x00", 0, 0); err == nil {
		t.Error("a name with a NUL is opened")
	}
	if _, err := task.Openat(unix.AT_FDCWD, strings.Repeat("x", arenaSize), 0, 0); err == nil {
		t.Error("a name that has no room is opened")
	}
	if err := task.Close(fd); err != nil {
		t.Errorf("after that: %v", err)
	}
}

// TestNamespaces: a stub may be born into namespaces.
func TestNamespaces(t *testing.T) {
	r := start(t, &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_VM | unix.CLONE_VFORK})
	if pid, err := r.First().Call(unix.SYS_GETPID); err != nil || pid != 1 {
		t.Errorf("%d, %v", pid, err)
	}
}

// TestForks: tasks are processes of their own.
func TestForks(t *testing.T) {
	r := start(t, nil)
	first := r.First()
	child := first.Child(1)
	pidfd := -1
	pid, err := first.Fork(child, unix.CLONE_FS, &pidfd)
	if err != nil {
		t.Fatal(err)
	}
	ended(t, pid)
	if got, err := child.Call(unix.SYS_GETPID); err != nil || int(got) != pid || pid == r.pid {
		t.Errorf("%d, %v, want %d, which is not %d", got, err, pid, r.pid)
	}
	dir := t.TempDir()
	if err := child.Chdir(dir); err != nil {
		t.Fatal(err)
	}
	if err := first.Mkdir("made", 0o700); err != nil { // in the directory that they share
		t.Fatal(err)
	}
	if _, err := os.Stat(dir + "/made"); err != nil {
		t.Error(err)
	}
	// While one waits, the others go on.
	var ws syscall.WaitStatus
	first.BeginAlways()
	first.RepeatUntil(pid)
	first.Wait4(-1, &ws, 0)
	if err := first.Submit(); err != nil {
		t.Fatal(err)
	}
	if _, err := child.Call(unix.SYS_KILL, uintptr(pid), uintptr(unix.SIGTERM)); err != errExited {
		t.Errorf("%v of a task that has ended", err)
	}
	if err := first.WaitLong(); err != nil || ws.Signal() != unix.SIGTERM {
		t.Errorf("%v, %v", err, ws)
	}
	if err := first.Close(pidfd); err != nil {
		t.Errorf("there was no pidfd: %v", err)
	}
}

// TestExec: a task becomes another program, or stays what it is.
func TestExec(t *testing.T) {
	r := start(t, nil)
	first := r.First()
	child := first.Child(2)
	pidfd := -1
	pid, err := first.Fork(child, 0, &pidfd)
	if err != nil {
		t.Fatal(err)
	}
	run := func(path string, argv, env []string) error {
		child.Begin()
		child.Exec(path, argv, env)
		if err := child.Submit(); err != nil {
			return err
		}
		return child.WaitExec()
	}
	var failed *CallError
	if err := run("/nowhere", []string{"x"}, nil); !errors.As(err, &failed) || failed.Errno != unix.ENOENT {
		t.Errorf("%v", err)
	}
	if err := run("/bin/sh", []string{"sh", strings.Repeat("x", lastArenaSize)}, nil); err == nil {
		t.Error("there is room for more than there is room for")
	}
	out := t.TempDir() + "/out"
	if err := run("/bin/sh", []string{"sh", "-c", `echo "$1 $V" >"$2"; exit 7`, "sh", "a b", out}, []string{"V=c"}); err != nil {
		t.Fatal(err)
	}
	var ws syscall.WaitStatus
	if _, err := first.Wait4(pid, &ws, 0); err != nil || ws.ExitStatus() != 7 {
		t.Errorf("%v, %v", err, ws)
	}
	if b, err := os.ReadFile(out); err != nil || string(b) != "a b c\n" {
		t.Errorf("%q, %v", b, err)
	}
}

// TestGone: nobody waits for a stub that has ended.
func TestGone(t *testing.T) {
	r := start(t, nil)
	task := r.First()
	done := make(chan error)
	go func() {
		_, err := task.Call(unix.SYS_PPOLL, 0, 0, 0, 0, 0)
		done <- err
	}()
	time.Sleep(50 * time.Millisecond) // it sleeps by then
	unix.Kill(r.pid, unix.SIGKILL)
	r.MarkExited()
	if err := <-done; err != errExited {
		t.Errorf("%v", err)
	}
	if _, err := task.Call(unix.SYS_GETPID); err != errExited {
		t.Errorf("and then %v", err)
	}
}

// TestEndsWithNobody: a stub that is born when nobody is there any more, ends.
func TestEndsWithNobody(t *testing.T) {
	s, err := New()
	if err != nil {
		t.Fatal(err)
	}
	program, err := Program()
	if err != nil {
		t.Fatal(err)
	}
	for _, there := range []bool{true, false} {
		ours, theirs, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		if !there {
			ours.Close()
		}
		pid, err := syscall.ForkExec("/proc/self/fd/5", []string{memfdName}, &syscall.ProcAttr{Files: []uintptr{0, 1, 2, uintptr(s.Memory()), theirs.Fd(), uintptr(program)}})
		if err != nil {
			t.Fatal(err)
		}
		if there {
			time.Sleep(50 * time.Millisecond)
			unix.Kill(pid, unix.SIGTERM)
		}
		var ws syscall.WaitStatus
		if _, err := syscall.Wait4(pid, &ws, 0, nil); err != nil || ws.Signaled() != there || !there && ws.ExitStatus() != 127 {
			t.Errorf("somebody is there: %t: %v, %v", there, err, ws)
		}
		ours.Close()
		theirs.Close()
	}
}

// TestProgram: what stubs are made of cannot be changed.
func TestProgram(t *testing.T) {
	fd, err := Program()
	if err != nil {
		t.Fatal(err)
	}
	if w, err := os.OpenFile(fdPath(fd), os.O_RDWR, 0); err == nil {
		defer w.Close()
		if _, err := w.Write([]byte{0}); !errors.Is(err, unix.EPERM) {
			t.Errorf("it is written to: %v", err)
		}
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Size > 1024 {
		t.Errorf("%d bytes, %v", st.Size, err)
	}
}
