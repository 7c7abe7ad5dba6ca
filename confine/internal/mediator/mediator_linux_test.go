package mediator

import (
	"os"
	"runtime"
	"syscall"
	"testing"
	"unsafe"

	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp"
	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp/seccomptest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"golang.org/x/sys/unix"
)

// TestStaleCallIsRefused checks that a call is refused with ESRCH when its caller no longer
// waits. The thread ID may then belong to another process, whose memory must not be used. This
// process plays the one that has the ID.
func TestStaleCallIsRefused(t *testing.T) {
	name := []byte("/etc/hostname\x00")
	at := func(b []byte) uint64 { return uint64(uintptr(unsafe.Pointer(&b[0]))) }
	var pinned runtime.Pinner
	pinned.Pin(&name[0])
	defer pinned.Unpin()
	for _, c := range []struct {
		what string
		try  func(l seccomp.Listener, n *seccomp.Notification) syscall.Errno
	}{
		{"the arguments of a call", func(l seccomp.Listener, n *seccomp.Notification) syscall.Errno {
			n.Args[0] = at(name)
			r := &request{MediatedCall: seccomp.MediatedCall{Call: "rmdir", Op: seccomp.OpRemove, Dir: seccomp.AtCwd, Path2: seccomp.NoArg}, n: *n, bases: [2]int{-1, -1}}
			errno := (&reader{listener: &l}).read(r)
			if errno == 0 && r.names[0] != "/etc/hostname" {
				t.Errorf("read %q", r.names[0])
			}
			return errno
		}},
		{"the process of the caller", func(l seccomp.Listener, n *seccomp.Notification) syscall.Errno {
			switch tgid := (&Mediator{listener: l}).processOf(&request{n: *n}); tgid {
			case os.Getpid():
				return 0
			case 0:
				return unix.ESRCH
			default:
				return unix.EINVAL
			}
		}},
	} {
		t.Run(c.what, func(t *testing.T) {
			l, id, letGo := seccomptest.HeldCall(t)
			n := seccomp.Notification{Id: id, Tid: uint32(os.Getpid())}
			testkit.Equal(t, "while the caller waits", c.try(l, &n), 0)
			letGo()
			testkit.Equal(t, "when the caller is gone", c.try(l, &n), unix.ESRCH)
		})
	}
}

// TestRetryOfStaleCall checks that a retry drops a request, and closes its directories, when
// its caller no longer waits.
func TestRetryOfStaleCall(t *testing.T) {
	l, id, letGo := seccomptest.HeldCall(t)
	open := func() int {
		fd := testkit.Get(unix.Open(t.TempDir(), unix.O_PATH|unix.O_CLOEXEC, 0))(t)
		return fd
	}
	for _, waits := range []bool{true, false} {
		if !waits {
			letGo()
		}
		w := &worker{}
		v := &Mediator{listener: l, pool: workerPool{started: MaxWorkers, idle: []*worker{w}, asleep: 1}}
		r := &request{n: seccomp.Notification{Id: id}, bases: [2]int{open(), -1}}
		fd := r.bases[0]
		v.retry(r)
		_, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if given := w.given == 1; given != waits || (err == nil) != waits {
			t.Errorf("waits: %t, given to a worker: %t, its directory: %v", waits, given, err)
		}
		r.close()
	}
}
