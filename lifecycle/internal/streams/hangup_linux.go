package streams

import (
	"os"
	"syscall"
)

// WatchHangup closes gone when the client can neither send nor receive: the other ends of
// in and out are closed, or out is a socket and its other end is closed. A client that has
// only closed in may still wait for answers. gone is nil if the kernel cannot tell, as of
// regular files. stop ends the watching.
func WatchHangup(in, out *os.File) (gone <-chan struct{}, stop func()) {
	h, err := newHangup()
	if err != nil {
		return nil, func() {}
	}
	if h.add(out) != nil {
		h.epoll.Close()
		return nil, func() {}
	}
	h.add(in)
	left, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		if h.wait(out, isSocket(out)) {
			close(left)
		}
	}()
	return left, func() {
		h.epoll.Close()
		<-over
	}
}

// hangup is an epoll instance. The runtime waits for it without a thread. It asks for no
// events, and reports errors and hang-ups all the same (epoll_ctl(2)).
type hangup struct {
	epoll *os.File
	fd    int
}

func newHangup() (hangup, error) {
	fd, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return hangup{}, err
	}
	syscall.SetNonblock(fd, true) // or package os does not use the poller for it
	return hangup{os.NewFile(uintptr(fd), "epoll"), fd}, nil
}

func (h hangup) add(f *os.File) (err error) {
	fd := Descriptor(f)
	return syscall.EpollCtl(h.fd, syscall.EPOLL_CTL_ADD, fd, &syscall.EpollEvent{Fd: int32(fd)})
}

// wait returns true when out has hung up and, unless enough is set, in has too.
func (h hangup) wait(out *os.File, enough bool) bool {
	raw, err := h.epoll.SyscallConn()
	if err != nil {
		return false
	}
	outGone, inGone := false, enough
	for !outGone || !inGone {
		var events [2]syscall.EpollEvent
		n := 0
		if err := raw.Read(func(uintptr) bool {
			n, _ = syscall.EpollWait(h.fd, events[:], 0)
			return n > 0
		}); err != nil {
			return false
		}
		for _, e := range events[:n] {
			// Or epoll would report the same hang-up forever.
			syscall.EpollCtl(h.fd, syscall.EPOLL_CTL_DEL, int(e.Fd), nil)
			if int(e.Fd) == Descriptor(out) {
				outGone = true
			} else {
				inGone = true
			}
		}
	}
	return true
}
