package sockets

import (
	"encoding/binary"
	"net/netip"
	"strconv"
	"syscall"

	"github.com/mcp-jail/mcp-jail/confine/internal/proc"
	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"golang.org/x/sys/unix"
)

// address copies a socket address from the caller's memory, once (TOCTOU). The address is not valid
// if its family is AF_UNSPEC, which stands for none.
func (s *Handler) address(n *seccomp.Notification, o *socket, at, size uint64) (raw []byte, to netip.AddrPort, errno syscall.Errno) {
	length := int(int32(size))
	if length < 2 || length > unix.SizeofSockaddrAny+16 { // struct sockaddr_storage
		return nil, to, unix.EINVAL
	}
	raw = make([]byte, length)
	if errno := s.read(n, at, raw); errno != 0 {
		return nil, to, errno
	}
	family := int(binary.NativeEndian.Uint16(raw))
	to, ok := sys.ParseSockaddr(raw)
	switch {
	case family == unix.AF_UNSPEC:
		return raw, to, 0
	case family != o.family:
		return nil, to, unix.EAFNOSUPPORT
	case !ok:
		return nil, to, unix.EINVAL
	}
	return raw, to, 0
}

// read fills into with memory of the caller. If it can read a part only, it fails.
func (s *Handler) read(n *seccomp.Notification, at uint64, into []byte) syscall.Errno {
	switch got, errno := proc.ReadMemory(int(n.Tid), at, into); {
	case errno != 0:
		return errno
	case got < len(into):
		return unix.EFAULT
	case !s.Listener.Valid(n.Id): // the thread ID may belong to another process by now
		return unix.ESRCH
	}
	return 0
}

// write writes to memory of the caller.
func (s *Handler) write(n *seccomp.Notification, at uint64, b []byte) syscall.Errno {
	// The descriptor stays with this process, also when the thread ID is in use again by another one.
	m, err := unix.Open("/proc/"+strconv.Itoa(int(n.Tid))+"/mem", unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return unix.EFAULT
	}
	defer unix.Close(m)
	if !s.Listener.Valid(n.Id) {
		return unix.ESRCH
	}
	if done, err := unix.Pwrite(m, b, int64(at)); err != nil || done < len(b) {
		return unix.EFAULT
	}
	return 0
}

// giveName writes a socket address into a buffer of the caller, which has room for size bytes.
func (s *Handler) giveName(n *seccomp.Notification, at uint64, size uint32, name []byte) syscall.Errno {
	if at == 0 || int32(size) <= 0 {
		return 0
	}
	return s.write(n, at, name[:min(int(size), len(name))])
}
