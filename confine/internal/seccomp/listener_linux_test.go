package seccomp

import (
	"runtime"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestListenerIsUnused: a listener is used while a thread has the filter, and not when the thread has ended.
func TestListenerIsUnused(t *testing.T) {
	made, end := make(chan int), make(chan struct{})
	var user func()
	user = func() {
		runtime.LockOSThread() // the thread ends with this goroutine
		if unix.Gettid() == unix.Getpid() {
			go user() // the first thread does not end
			<-end
			return
		}
		allow := []unix.SockFilter{{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW}}
		program := unix.SockFprog{Len: 1, Filter: &allow[0]}
		unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
		fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, uintptr(unsafe.Pointer(&program)))
		testkit.Equal(t, "", errno, 0)
		made <- int(fd)
		<-end
	}
	go user()
	fd := <-made
	defer unix.Close(fd)
	if Listener(fd).IsUnused() {
		t.Error("unused while a thread has the filter")
	}
	close(end)
	fds := []unix.PollFd{{Fd: int32(fd)}}
	testkit.Must(t, testkit.ErrorOf(unix.Poll(fds, 60_000)))
	if !Listener(fd).IsUnused() {
		t.Error("used after the end of the thread")
	}
}
