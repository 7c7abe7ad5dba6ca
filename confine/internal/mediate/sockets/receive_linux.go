package sockets

import (
	"encoding/binary"
	"syscall"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp"
	"github.com/mcp-jail/mcp-jail/confine/internal/step"
	"golang.org/x/sys/unix"
)

// receives performs a receive call that asks for the sender. If it must wait, a goroutine
// continues it.
func (s *Handler) receives(n *seccomp.Notification, call string, fd int, o *socketState) outcome {
	w := &receiving{n: *n, call: call, state: o}
	switch call {
	case "recvfrom":
		w.flags = int(int32(n.Args[3]))
		w.into = []piece{{n.Args[1], min(n.Args[2], maxDatagram)}}
	case "recvmsg", "recvmmsg": // recvmmsg receives one message
		w.flags = int(int32(n.Args[2]))
		if call == "recvmmsg" {
			w.flags = int(int32(n.Args[3]))
		}
		if errno := w.readHeader(s, n.Args[1]); errno != 0 {
			return failed(errno)
		}
	default:
		return letProceed
	}
	if w.flags&unix.MSG_ERRQUEUE != 0 {
		return failed(unix.EAGAIN)
	}
	mem, errno := s.memory(n)
	if errno != 0 {
		return failed(errno)
	}
	w.mem = mem
	reply := w.receive(fd)
	if reply.errno != unix.EAGAIN || !w.waits(fd) {
		unix.Close(mem)
		return reply
	}
	own, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		unix.Close(mem)
		return failed(unix.ENOBUFS)
	}
	go w.retry(s, own)
	return outcome{done: true}
}

// maxDatagram is more than the size of a DNS answer of the gateway.
const maxDatagram = 1 << 13

// receiving is one receive call.
type receiving struct {
	n      seccomp.Notification
	call   string
	state  *socketState
	flags  int
	into   []piece
	header uint64    // address of struct msghdr; 0 for recvfrom
	name   uint64    // buffer for the sender's address
	room   int       // its size
	mem    int       // the caller's memory
	until  time.Time // deadline; zero for none
}

// piece is a range of the caller's memory.
type piece struct{ at, size uint64 }

func (w *receiving) readHeader(s *Handler, at uint64) syscall.Errno {
	var h [sizeofMsghdr]byte
	if errno := s.read(&w.n, at, h[:]); errno != 0 {
		return errno
	}
	word := func(i int) uint64 { return binary.NativeEndian.Uint64(h[i:]) }
	count := word(msgIovLen)
	if count > maxMessages {
		return unix.EMSGSIZE
	}
	w.header, w.name, w.room = at, word(0), int(int32(binary.NativeEndian.Uint32(h[msgNameLen:])))
	if count == 0 {
		return 0
	}
	b := make([]byte, count*sizeofIovec)
	if errno := s.read(&w.n, word(msgIov), b); errno != 0 {
		return errno
	}
	for ; len(b) > 0; b = b[sizeofIovec:] {
		w.into = append(w.into, piece{binary.NativeEndian.Uint64(b), min(binary.NativeEndian.Uint64(b[8:]), maxDatagram)})
	}
	return 0
}

func (w *receiving) receive(fd int) outcome {
	b := make([]byte, maxDatagram)
	got, _, err := unix.Recvfrom(fd, b, w.flags&unix.MSG_PEEK|unix.MSG_DONTWAIT)
	switch {
	case err == unix.ECONNRESET || err == nil && got == 0:
		return failed(unix.ECONNREFUSED) // the launcher closed its end, because it refused a message
	case err != nil:
		return failed(step.ErrnoOrEIO(err))
	}
	b = b[:got]
	fits := 0
	for _, p := range w.into {
		part := b[fits:][:min(p.size, uint64(got-fits))]
		if errno := put(w.mem, p.at, part); errno != 0 {
			return failed(errno)
		}
		fits += len(part)
	}
	if w.flags&unix.MSG_TRUNC == 0 {
		got = fits
	}
	if errno := w.tell(got, fits < len(b)); errno != 0 {
		return failed(errno)
	}
	if w.call == "recvmmsg" {
		got = 1
	}
	return outcome{val: int64(got)}
}

func (w *receiving) tell(got int, cut bool) syscall.Errno {
	sender := w.state.sender()
	if w.header == 0 {
		return putName(w.mem, w.n.Args[4], w.n.Args[5], sender)
	}
	var flags, none [8]byte
	if cut {
		binary.NativeEndian.PutUint32(flags[:], unix.MSG_TRUNC)
	}
	if w.name != 0 {
		if errno := put(w.mem, w.name, sender[:max(0, min(w.room, len(sender)))]); errno != 0 {
			return errno
		}
	}
	errno := put(w.mem, w.header+msgNameLen, binary.NativeEndian.AppendUint32(nil, uint32(len(sender))))
	if errno == 0 {
		errno = put(w.mem, w.header+msgControlLen, none[:])
	}
	if errno == 0 {
		errno = put(w.mem, w.header+msgFlags, flags[:4])
	}
	if errno == 0 && w.call == "recvmmsg" {
		errno = put(w.mem, w.header+sizeofMsghdr, binary.NativeEndian.AppendUint32(nil, uint32(got)))
	}
	return errno
}

func (w *receiving) waits(fd int) bool {
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err != nil || flags&unix.O_NONBLOCK != 0 || w.flags&unix.MSG_DONTWAIT != 0 {
		return false
	}
	if limit, err := unix.GetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO); err == nil && limit.Nano() > 0 {
		w.until = time.Now().Add(time.Duration(limit.Nano()))
	}
	return true
}

// retry tries again until the call is done. It polls, because a blocking read would need a
// thread for each call, and the supervisor cannot start threads. A server that polls before it
// receives does not get here.
func (w *receiving) retry(s *Handler, fd int) {
	for pause := time.Millisecond; !w.tryAgain(s, fd); pause = min(pause*2, 20*time.Millisecond) {
		time.Sleep(pause)
	}
}

// tryAgain tries once and reports whether the call is done. One goroutine at a time runs it:
// the server can make an access to its memory slow, and a goroutine that blocks in the kernel
// takes one of the supervisor's threads.
func (w *receiving) tryAgain(s *Handler, fd int) (done bool) {
	s.turn.Lock()
	defer s.turn.Unlock()
	if s.Listener.Valid(w.n.Id) {
		reply := w.receive(fd)
		if reply.errno == unix.EAGAIN && (w.until.IsZero() || time.Now().Before(w.until)) {
			return false
		}
		s.Listener.Send(seccomp.Response{Id: w.n.Id, Val: reply.val, Errno: -int32(reply.errno)})
	}
	unix.Close(fd)
	unix.Close(w.mem)
	return true
}
