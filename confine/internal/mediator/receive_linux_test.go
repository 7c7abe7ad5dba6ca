package mediator

import (
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/mcp-jail/mcp-jail/confine/internal/kernel/kerneltest"
	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"golang.org/x/sys/unix"
)

// unused returns the listener of a filter whose only thread has ended.
func unused(t *testing.T) seccomp.Listener {
	t.Helper()
	kerneltest.Needs(t, "seccomp")
	made := make(chan int)
	var user func()
	user = func() {
		runtime.LockOSThread() // the thread ends with this goroutine
		if unix.Gettid() == unix.Getpid() {
			go user() // the first thread does not end
			<-t.Context().Done()
			return
		}
		allow := []unix.SockFilter{{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW}}
		program := unix.SockFprog{Len: 1, Filter: &allow[0]}
		unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
		fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, uintptr(unsafe.Pointer(&program)))
		testkit.Equal(t, "", errno, 0)
		made <- int(fd)
	}
	go user()
	l := seccomp.Listener(<-made)
	testkit.Eventually(t, "no thread has the filter", l.IsUnused)
	return l
}

// TestReceiverRests: the receiver asks for no more calls when no thread has the filter. It would use a whole processor
// then: since Linux 6.11 the kernel does not let it wait.
func TestReceiverRests(t *testing.T) {
	m := &Mediator{listener: unused(t), end: func() { t.Error("it ends the jail") }}
	if major, minor := kernel(); major < 6 || major == 6 && minor < 11 {
		t.Logf("Linux %d.%d has it wait", major, minor)
		return
	}
	var returned atomic.Bool
	go func() { // for good, with the listener
		m.receiveOne()
		returned.Store(true)
	}()
	testkit.Eventually(t, "the receiver rests", func() bool {
		if returned.Load() {
			t.Fatal("it goes on")
		}
		stacks := make([]byte, 1<<20)
		for stack := range strings.SplitSeq(string(stacks[:runtime.Stack(stacks, true)]), "\n\n") {
			if strings.Contains(stack, ".receiveOne(") && strings.Contains(stack, "[select (no cases)") {
				return true
			}
		}
		return false
	})
}

func kernel() (major, minor int) {
	var name unix.Utsname
	unix.Uname(&name)
	fmt.Sscanf(unix.ByteSliceToString(name.Release[:]), "%d.%d", &major, &minor)
	return major, minor
}
