package stub

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// running is a started stub, with this program's end of LifeFD.
type running struct {
	*Stub
	pid  int
	life *os.File
}

// fork starts a stub with one end of LifeFD.
func fork(t *testing.T, sys *syscall.SysProcAttr, life *os.File) (s *Stub, pid int) {
	t.Helper()
	s, err := New()
	testkit.Must(t, err)
	program, err := Program()
	testkit.Must(t, err)
	pid, err = syscall.ForkExec("/proc/self/fd/5", []string{memfdName}, &syscall.ProcAttr{
		Files: []uintptr{0, 1, 2, uintptr(s.Memory()), life.Fd(), uintptr(program)}, Sys: sys,
	})
	testkit.Must(t, err)
	return s, pid
}

func start(t *testing.T, sys *syscall.SysProcAttr) *running {
	t.Helper()
	host, stubs, err := os.Pipe()
	testkit.Must(t, err)
	defer stubs.Close()
	s, pid := fork(t, sys, stubs)
	s.CloseMemory()
	r := &running{s, pid, host}
	t.Cleanup(func() {
		host.Close()
		unix.Kill(pid, unix.SIGKILL)
		unix.Wait4(pid, nil, 0, nil)
		s.MarkExited()
		testkit.Works(t, "", s.Free())
	})
	return r
}

// ended kills a process that a stub forked when the test ends. It would outlive the stub.
func ended(t *testing.T, pid int) {
	t.Cleanup(func() { unix.Kill(pid, unix.SIGKILL) })
}

// TestCall checks that calls are made in the stub's process and return the kernel's errors.
func TestCall(t *testing.T) {
	r := start(t, nil)
	task := r.First()
	testkit.Equal(t, "", int(testkit.Get(task.Call(unix.SYS_GETPID))(t)), r.pid)
	dir := t.TempDir()
	testkit.Works(t, "", Mkdirat(task, unix.AT_FDCWD, dir+"/made", 0o700))
	testkit.Is(t, "for a directory that is there", Mkdirat(task, unix.AT_FDCWD, dir+"/made", 0o700), unix.EEXIST)
	fd := testkit.Get(Openat(task, unix.AT_FDCWD, dir+"/file", unix.O_RDWR|unix.O_CREAT, 0o600))(t)
	// The descriptor is the stub's, not this process's.
	if link, err := os.Readlink("/proc/" + strconv.Itoa(r.pid) + "/fd/" + strconv.Itoa(fd)); err != nil || link != dir+"/file" {
		t.Errorf("%q, %v", link, err)
	}
	long := strings.Repeat("x", arenaSize/2)
	testkit.Equal(t, "bytes", testkit.Get(Write(task, fd, []byte(long)))(t), len(long))
	testkit.Equal(t, "bytes", string(testkit.Get(os.ReadFile(dir+"/file"))(t)), long)
	if _, err := Openat(task, unix.AT_FDCWD, dir+"/made\x00", 0, 0); err == nil {
		t.Error("a name with a NUL is opened")
	}
	if _, err := Openat(task, unix.AT_FDCWD, strings.Repeat("x", arenaSize), 0, 0); err == nil {
		t.Error("a name that does not fit is opened")
	}
	testkit.Works(t, "after that", Close(task, fd))
}

// TestNamespaces checks that a stub can start in new namespaces.
func TestNamespaces(t *testing.T) {
	r := start(t, &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_VM | unix.CLONE_VFORK})
	testkit.Equal(t, "", testkit.Get(r.First().Call(unix.SYS_GETPID))(t), 1)
}

// TestMarkExited checks that calls return when the stub has ended.
func TestMarkExited(t *testing.T) {
	r := start(t, nil)
	task := r.First()
	done := make(chan error)
	go func() {
		_, err := task.Call(unix.SYS_PPOLL, 0, 0, 0, 0, 0)
		done <- err
	}()
	time.Sleep(50 * time.Millisecond) // the call is being waited for by then
	unix.Kill(r.pid, unix.SIGKILL)
	r.MarkExited()
	testkit.Equal(t, "", <-done, errExited)
	testkit.Equal(t, "and then", testkit.ErrorOf(task.Call(unix.SYS_GETPID)), errExited)
}

// TestStubEndsWithLauncher checks that a stub exits if the other end of LifeFD is closed, at
// its start or later. A launcher that is being killed may close its end after the start of
// the stub, which then gets no signal.
func TestStubEndsWithLauncher(t *testing.T) {
	for _, closed := range []string{"never", "before", "later"} {
		t.Run(closed, func(t *testing.T) {
			host, stubs, err := os.Pipe()
			testkit.Must(t, err)
			defer host.Close()
			defer stubs.Close()
			if closed == "before" {
				host.Close()
			}
			s, pid := fork(t, nil, stubs)
			if closed != "before" {
				testkit.Works(t, "the stub makes no calls", testkit.ErrorOf(s.First().Call(unix.SYS_GETPID)))
			}
			if closed == "later" {
				host.Close()
			}
			if closed == "never" {
				time.Sleep(2500 * time.Millisecond) // it looks at LifeFD each second
				unix.Kill(pid, unix.SIGTERM)
			}
			var ws syscall.WaitStatus
			if _, err := syscall.Wait4(pid, &ws, 0, nil); err != nil || ws.Signaled() != (closed == "never") || closed != "never" && ws.ExitStatus() != 127 {
				t.Errorf("%v, %v", err, ws)
			}
		})
	}
}
