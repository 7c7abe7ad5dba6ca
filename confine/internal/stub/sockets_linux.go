package stub

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

func Socket(t *Task, family, kind, protocol int) (int, error) {
	return t.call(unix.SYS_SOCKET, uintptr(family), uintptr(kind), uintptr(protocol))
}

// Bind takes a struct sockaddr, as Connect does. Getsockname fills one in.
func Bind(t *Task, fd int, address []byte) error {
	return t.do(unix.SYS_BIND, uintptr(fd), t.arena.copyIn(address), uintptr(len(address)))
}

func Connect(t *Task, fd int, address []byte) error {
	return t.do(unix.SYS_CONNECT, uintptr(fd), t.arena.copyIn(address), uintptr(len(address)))
}

func Getsockname(t *Task, fd int, name *[unix.SizeofSockaddrAny]byte) error {
	at := t.arena.alloc(len(name))
	clear(at)
	size := t.arena.alloc(4)
	binary.NativeEndian.PutUint32(size, uint32(len(at)))
	if err := t.do(unix.SYS_GETSOCKNAME, uintptr(fd), address(at), address(size)); err != nil {
		return err
	}
	return t.OnComplete(func() error { copy(name[:], at); return nil })
}

func Listen(t *Task, fd, backlog int) error {
	return t.do(unix.SYS_LISTEN, uintptr(fd), uintptr(backlog))
}

func SetsockoptInt(t *Task, fd, level, option, value int) error {
	v := binary.NativeEndian.AppendUint32(nil, uint32(value))
	return t.do(unix.SYS_SETSOCKOPT, uintptr(fd), uintptr(level), uintptr(option), t.arena.copyIn(v), 4)
}

// AttachFilter attaches a classic BPF filter to a socket (SO_ATTACH_FILTER). The filter is
// given as struct sock_filter records.
func AttachFilter(t *Task, fd int, records []byte) error {
	fprog := sockFprog(t, records)
	return t.do(unix.SYS_SETSOCKOPT, uintptr(fd), unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, fprog, sizeofFprog)
}

// sizeofFprog is the size of struct sock_fprog.
const sizeofFprog = 16

func sockFprog(t *Task, records []byte) uintptr {
	var fprog [sizeofFprog]byte
	binary.NativeEndian.PutUint16(fprog[:], uint16(len(records)/8))
	binary.NativeEndian.PutUint64(fprog[8:], uint64(t.arena.copyIn(records)))
	return t.arena.copyIn(fprog[:])
}

func msghdr(t *Task, data, control []byte) (header []byte) {
	header = t.arena.alloc(56)
	clear(header)
	vector := t.arena.alloc(16)
	put := binary.NativeEndian.PutUint64
	put(vector, uint64(address(data)))
	put(vector[8:], uint64(len(data)))
	put(header[16:], uint64(address(vector)))
	put(header[24:], 1)
	if len(control) > 0 {
		put(header[32:], uint64(address(control)))
		put(header[40:], uint64(len(control)))
	}
	return header
}

// Sendmsg sends data and control messages over a connected socket.
func Sendmsg(t *Task, fd int, data, control []byte, flags int) error {
	d, c := t.arena.alloc(len(data)), t.arena.alloc(len(control))
	copy(d, data)
	copy(c, control)
	return t.do(unix.SYS_SENDMSG, uintptr(fd), address(msghdr(t, d, c)), uintptr(flags))
}

// ReceiveRights receives one message with descriptors. It fills the control message in.
func ReceiveRights(t *Task, fd int, control []byte, flags int) error {
	d, c := t.arena.alloc(8), t.arena.alloc(len(control))
	clear(c)
	header := msghdr(t, d, c)
	if err := t.do(unix.SYS_RECVMSG, uintptr(fd), address(header), uintptr(flags)); err != nil {
		return err
	}
	return t.OnComplete(func() error { copy(control, c); return nil })
}
