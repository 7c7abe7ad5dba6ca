// Package seccomptest makes a system call that a filter has handed over, for tests.
package seccomptest

import (
	"runtime"
	"syscall"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/kernel/kerneltest"
	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp"
	"github.com/mcp-jail/mcp-jail/confine/internal/stub"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"golang.org/x/sys/unix"
)

// HeldCall returns a call that a filter has handed over to this process. The call waits for its
// answer until letGo, which the end of the test calls too.
func HeldCall(t *testing.T) (l seccomp.Listener, id uint64, letGo func()) {
	t.Helper()
	kerneltest.Needs(t, "seccomp")
	arch, _ := seccomp.ArchOf(runtime.GOARCH)
	prog, err := seccomp.CompileFilter(arch, nil, []seccomp.Notify{{Call: "umask"}})
	if err != nil {
		t.Fatal(err)
	}
	type opened struct {
		fd  int
		err error
	}
	listening, back := make(chan opened), make(chan struct{})
	go func() {
		defer close(back)
		runtime.LockOSThread()    // forever: the filter ends with this thread
		err := sys.BlockSignals() // a signal would have the kernel notify once more
		if err == nil {
			err = unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
		}
		fd := -1
		if err == nil {
			fd, err = seccomp.Install(&stub.Task{}, seccomp.Records(prog), unix.SECCOMP_FILTER_FLAG_NEW_LISTENER)
		}
		listening <- opened{fd, err}
		if err == nil {
			unix.Syscall(unix.SYS_UMASK, 0o22, 0, 0) // never carried out
		}
	}()
	got := <-listening
	if got.err != nil {
		t.Fatal(got.err)
	}
	var n seccomp.Notification
	l = seccomp.Listener(got.fd)
	for errno := syscall.Errno(unix.EINTR); errno == unix.EINTR; {
		if errno = l.Receive(&n); errno != 0 && errno != unix.EINTR {
			t.Fatal(errno)
		}
	}
	answered := false
	letGo = func() {
		if !answered {
			l.Respond(n.Id, 0)
			<-back
		}
		answered = true
	}
	t.Cleanup(func() {
		letGo()
		unix.Close(got.fd)
	})
	return l, n.Id, letGo
}
