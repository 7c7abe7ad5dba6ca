package sockets

import (
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/mcp-jail/mcp-jail/confine/internal/proc"
	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp"
	"github.com/mcp-jail/mcp-jail/confine/internal/step"
	"golang.org/x/sys/unix"
)

// keptSockets are the handler's own descriptors of sockets that it has made, where it may not
// duplicate the server's (pidfd_getfd). A TCP socket is kept until it is connected: its other end would
// not see the server close it. The handler does not see a close either, so it keeps the sockets that
// were used last.
//
// The kernel says by an inode number which socket the server means. The server may replace the descriptor
// meanwhile. Then another socket of the server is connected, to an address that the gateway permits.
type keptSockets struct {
	limit int
	all   []keptSocket // the one used last is at the end
}

type keptSocket struct {
	inode uint64
	fd    int
}

const (
	keptStreams   = 512
	keptDatagrams = 64 // the launcher, too, has a descriptor of each
)

// keep keeps a duplicate of a socket, and returns the socket's inode.
func (k *keptSockets) keep(fd int) (inode uint64, errno syscall.Errno) {
	var st unix.Stat_t
	err := unix.Fstat(fd, &st)
	if err == nil {
		fd, err = unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	}
	if err != nil {
		return 0, step.ErrnoOrEIO(err)
	}
	k.drop(st.Ino)
	if len(k.all) == k.limit {
		k.drop(k.all[0].inode)
	}
	k.all = append(k.all, keptSocket{st.Ino, fd})
	return st.Ino, 0
}

// duplicate returns a duplicate of a kept socket, or -1.
func (k *keptSockets) duplicate(inode uint64) int {
	at := slices.IndexFunc(k.all, func(s keptSocket) bool { return s.inode == inode })
	if at < 0 {
		return -1
	}
	s := k.all[at]
	k.all = append(slices.Delete(k.all, at, at+1), s)
	fd, err := unix.FcntlInt(uintptr(s.fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return -1
	}
	return fd
}

func (k *keptSockets) drop(inode uint64) {
	if at := slices.IndexFunc(k.all, func(s keptSocket) bool { return s.inode == inode }); at >= 0 {
		unix.Close(k.all[at].fd)
		k.all = slices.Delete(k.all, at, at+1)
	}
}

// findKept returns a duplicate of the socket that a call is about, or -1 if it is not kept.
func (s *Handler) findKept(n *seccomp.Notification) (fd int, o object, errno syscall.Errno) {
	var room [64]byte
	name := proc.ThreadFile(int(n.Tid), "fd/"+strconv.Itoa(int(int32(n.Args[0]))))
	size, err := unix.Readlinkat(proc.DirFD, name, room[:])
	switch {
	case !s.Listener.Valid(n.Id): // the thread ID may belong to another process by now
		return -1, o, unix.ESRCH
	case err == unix.ENOENT:
		return -1, o, unix.EBADF
	case err != nil:
		return -1, o, step.ErrnoOrEIO(err)
	}
	number, is := strings.CutPrefix(string(room[:size]), "socket:[")
	inode, err := strconv.ParseUint(strings.TrimSuffix(number, "]"), 10, 64)
	if !is || err != nil {
		return -1, o, unix.ENOTSOCK
	}
	o = object{family: unix.AF_UNIX, id: inode, state: s.known.get(inode)}
	if o.state != nil {
		o.family = o.state.family
	}
	if o.state.datagrams() {
		return s.datagrams.duplicate(inode), o, 0
	}
	return s.streams.duplicate(inode), o, 0
}

// connectAgain answers a connect of a socket that is not kept, as the kernel does for a connected one.
func (o *socketState) connectAgain() outcome {
	switch {
	case o.peer == nil:
		return failed(unix.ENOBUFS) // too many sockets were made after it
	case o.pending:
		o.pending = false
		return outcome{}
	}
	return failed(unix.EISCONN)
}
