//go:build darwin || freebsd

package streams

import (
	"errors"
	"math"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// WatchHangup closes gone when the client can neither send nor receive: the other ends of
// in and out are closed, or out is a socket and its other end is closed. A client that has
// only closed in may still wait for answers. gone is nil if the kernel cannot tell, as of
// regular files. stop ends the watching.
func WatchHangup(in, out *os.File) (gone <-chan struct{}, stop func()) {
	queue, err := unix.Kqueue()
	if err != nil {
		return nil, func() {}
	}
	unix.CloseOnExec(queue)
	if change(queue, stopEvent(unix.EV_ADD|unix.EV_CLEAR, 0)) != nil || watchEnd(queue, out) != nil {
		unix.Close(queue)
		return nil, func() {}
	}
	watchEnd(queue, in)
	left, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		if waitHangup(queue, out, isSocket(out)) {
			close(left)
		}
	}()
	return left, func() {
		change(queue, stopEvent(0, unix.NOTE_TRIGGER))
		<-over
		unix.Close(queue)
	}
}

// stopEvent is the event by which the watching ends.
func stopEvent(flags int, fflags uint32) (e unix.Kevent_t) {
	unix.SetKevent(&e, 0, unix.EVFILT_USER, flags)
	e.Fflags = fflags
	return e
}

// watchEnd watches a pipe or a socket for its end. A pipe tells of it as an end of reads, for both of
// its ends. A socket tells of it as an end of writes: reads end already when the peer shuts down its
// output. The low-water mark keeps data from being an event.
func watchEnd(queue int, f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	var e unix.Kevent_t
	switch {
	case info.Mode()&os.ModeSocket != 0:
		unix.SetKevent(&e, Descriptor(f), unix.EVFILT_WRITE, unix.EV_ADD|unix.EV_CLEAR)
	case info.Mode()&os.ModeNamedPipe != 0:
		unix.SetKevent(&e, Descriptor(f), unix.EVFILT_READ, unix.EV_ADD|unix.EV_CLEAR)
	default:
		return errors.ErrUnsupported
	}
	e.Fflags, e.Data = unix.NOTE_LOWAT, math.MaxInt32
	return change(queue, e)
}

func change(queue int, e unix.Kevent_t) error {
	_, err := unix.Kevent(queue, []unix.Kevent_t{e}, nil, nil)
	return err
}

// waitHangup returns true when out has hung up and, unless enough is set, in has too. It returns false
// at the stop event.
func waitHangup(queue int, out *os.File, enough bool) bool {
	number := uint64(Descriptor(out))
	outGone, inGone := false, enough
	for !outGone || !inGone {
		events := make([]unix.Kevent_t, 3)
		n, err := unix.Kevent(queue, nil, events, nil)
		if err != nil && err != unix.EINTR {
			return false
		}
		for _, e := range events[:max(n, 0)] {
			switch {
			case e.Filter == unix.EVFILT_USER:
				return false
			case e.Flags&unix.EV_EOF == 0:
			case uint64(e.Ident) == number:
				outGone = true
			default:
				inGone = true
			}
		}
	}
	runtime.KeepAlive(out)
	return true
}
