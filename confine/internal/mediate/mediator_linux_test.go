package mediate

import (
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/mcp-jail/mcp-jail/confine/internal/mediate/sockets"
	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp"
	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp/seccomptest"
	"golang.org/x/sys/unix"
)

// TestStaleCallIsNobodys: a thread's number belongs to somebody else as soon as nobody
// waits for the call any more, and what was read or would be written through it is
// theirs. This process plays the one that has the number then.
func TestStaleCallIsNobodys(t *testing.T) {
	name, text := []byte("/etc/hostname\x00"), []byte("1234")
	at := func(b []byte) uint64 { return uint64(uintptr(unsafe.Pointer(&b[0]))) }
	var pinned runtime.Pinner
	pinned.Pin(&name[0])
	pinned.Pin(&text[0])
	defer pinned.Unpin()
	file, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	closeIt := func(fd int, errno syscall.Errno) syscall.Errno {
		if errno == 0 {
			unix.Close(fd)
		}
		return errno
	}
	for _, c := range []struct {
		what string
		try  func(l seccomp.Listener, n *seccomp.Notification) syscall.Errno
	}{
		{"the arguments of a call", func(l seccomp.Listener, n *seccomp.Notification) syscall.Errno {
			n.Args[0] = at(name)
			r := &Request{MediatedCall: seccomp.MediatedCall{Call: "rmdir", Op: seccomp.OpRemove, Dir: seccomp.AtCwd, Path2: seccomp.NoArg}, N: *n, bases: [2]int{-1, -1}}
			errno := (&Mediator{Listener: l}).read(r)
			if errno == 0 && r.names[0] != "/etc/hostname" {
				t.Errorf("read %q", r.names[0])
			}
			return errno
		}},
		{"the process that makes it", func(l seccomp.Listener, n *seccomp.Notification) syscall.Errno {
			switch tgid := (&Mediator{Listener: l}).processOf(&Request{N: *n}); tgid {
			case os.Getpid():
				return 0
			case 0:
				return unix.ESRCH
			default:
				return unix.EINVAL
			}
		}},
		{"an address", func(l seccomp.Listener, n *seccomp.Notification) syscall.Errno {
			return (&sockets.Handler{Listener: &l}).Read(n, at(text), make([]byte, 4))
		}},
		{"its memory", func(l seccomp.Listener, n *seccomp.Notification) syscall.Errno {
			return closeIt((&sockets.Handler{Listener: &l}).Memory(n))
		}},
		{"its socket", func(l seccomp.Listener, n *seccomp.Notification) syscall.Errno {
			n.Args[0] = uint64(file.Fd())
			return closeIt((&sockets.Handler{Listener: &l}).Duplicate(n))
		}},
		{"its socket, by its process", func(l seccomp.Listener, n *seccomp.Notification) syscall.Errno {
			n.Args[0] = uint64(file.Fd())
			return closeIt((&sockets.Handler{Listener: &l, NoThreadPidfd: true}).Duplicate(n))
		}},
	} {
		t.Run(c.what, func(t *testing.T) {
			l, id, letGo := seccomptest.HeldCall(t)
			n := seccomp.Notification{Id: id, Tid: uint32(os.Getpid())}
			if errno := c.try(l, &n); errno != 0 {
				t.Errorf("while it waits: %v", errno)
			}
			letGo()
			if errno := c.try(l, &n); errno != unix.ESRCH {
				t.Errorf("when it waits no more: %v", errno)
			}
		})
	}
}

// TestLaterIsForWhoWaits: what is to be tried again is given up, and what it holds let
// go of, when nobody waits for it any more.
func TestLaterIsForWhoWaits(t *testing.T) {
	l, id, letGo := seccomptest.HeldCall(t)
	open := func() int {
		fd, err := unix.Open(t.TempDir(), unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		return fd
	}
	for _, waits := range []bool{true, false} {
		if !waits {
			letGo()
		}
		w := &worker{}
		v := &Mediator{Listener: l, pool: workerPool{started: MaxWorkers, idle: []*worker{w}, asleep: 1}}
		r := &Request{N: seccomp.Notification{Id: id}, bases: [2]int{open(), -1}}
		fd := r.bases[0]
		v.retry(r)
		_, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if given := w.given == 1; given != waits || (err == nil) != waits {
			t.Errorf("waits: %t, given to a worker: %t, its directory: %v", waits, given, err)
		}
		r.close()
	}
}

// TestDatagramIsForWhoWaits: so is a datagram that has not come.
func TestDatagramIsForWhoWaits(t *testing.T) {
	l, id, letGo := seccomptest.HeldCall(t)
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pair[0])
	defer unix.Close(pair[1])
	s := &sockets.Handler{Listener: &l}
	isOpen := func(fd int) bool {
		_, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		return err == nil
	}
	for _, c := range []struct {
		what      string
		waits     bool
		for_      time.Duration // from now; 0: for ever
		goesOn    bool
		comesThen bool
	}{
		{"for ever", true, 0, true, false},
		{"for an hour", true, time.Hour, true, false},
		{"an hour ago", true, -time.Hour, false, false},
		{"no more", false, 0, false, true},
	} {
		l, id := l, id
		if !c.waits {
			letGo()
		} else if c.for_ < 0 { // it is answered, so it has one of its own
			l, id, _ = seccomptest.HeldCall(t)
		}
		s.Listener = &l
		fd, err := unix.FcntlInt(uintptr(pair[0]), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		mem, err := unix.Open("/proc/self/mem", unix.O_RDWR|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		w := &sockets.Receiving{N: seccomp.Notification{Id: id, Tid: uint32(os.Getpid())}, Call: "recvfrom", State: &sockets.SocketState{Family: unix.AF_INET, IsUDP: true}, Mem: mem}
		if c.for_ != 0 {
			w.Until = time.Now().Add(c.for_)
		}
		if c.comesThen { // and is for whoever asks next
			if err := unix.Send(pair[1], []byte("answer"), 0); err != nil {
				t.Fatal(err)
			}
		}
		done := w.TryAgain(s, fd)
		if done == c.goesOn || isOpen(fd) != c.goesOn || isOpen(mem) != c.goesOn {
			t.Errorf("%s: done %t, its socket is open %t, its memory %t", c.what, done, isOpen(fd), isOpen(mem))
		}
		if c.goesOn {
			unix.Close(fd)
			unix.Close(mem)
		}
		if c.comesThen {
			b := make([]byte, 16)
			if n, err := unix.Read(pair[0], b); err != nil || string(b[:n]) != "answer" {
				t.Errorf("%s: the answer is %q, %v", c.what, b[:max(0, n)], err)
			}
		}
	}
}
