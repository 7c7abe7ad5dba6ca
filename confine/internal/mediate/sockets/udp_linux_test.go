package sockets

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/mcp-jail/mcp-jail/confine/internal/proc"
	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp"
	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp/seccomptest"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"golang.org/x/sys/unix"
)

// A datagramWorld makes datagram calls with arguments in its memory.
type datagramWorld struct {
	listener seccomp.Listener
	id       uint64
	pair     [2]int // the server's socket, a UNIX socket in fact, and its other end
	memory   []byte
}

// Offsets of the arguments in datagramWorld.memory.
const (
	headerAt = 0
	iovecAt  = 64
	nameAt   = 128
	sizeAt   = 192
	bufferAt = 256
)

func newDatagramWorld(t *testing.T) *datagramWorld {
	w := &datagramWorld{}
	w.listener, w.id, _ = seccomptest.HeldCall(t)
	var err error
	if w.pair, err = unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(w.pair[0]); unix.Close(w.pair[1]) })
	if w.memory, err = unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Munmap(w.memory) })
	return w
}

// at returns the address of a byte of the memory.
func (w *datagramWorld) at(i int) uint64 { return uint64(uintptr(unsafe.Pointer(&w.memory[i]))) }

// call returns the outcome of a call on the server's socket.
func (w *datagramWorld) call(o *socketState, what string, args ...uint64) outcome {
	n := &seccomp.Notification{Id: w.id, Tid: uint32(os.Getpid())}
	copy(n.Args[:], args)
	return (&Handler{Listener: &w.listener}).datagram(n, what, w.pair[0], o)
}

// putName writes an address, and returns where it is and its length.
func (w *datagramWorld) putName(b []byte) (at, length uint64) {
	copy(w.memory[nameAt:], b)
	return w.at(nameAt), uint64(len(b))
}

// putSize writes the size of the room for an address.
func (w *datagramWorld) putSize(n int32) {
	binary.NativeEndian.PutUint32(w.memory[sizeAt:], uint32(n))
}

// sockaddr returns an address as the kernel encodes it.
func sockaddr(s string) []byte { return sys.Sockaddr(netip.MustParseAddrPort(s)) }

// unboundUDP returns the state of a UDP socket without a peer.
func unboundUDP() *socketState { return &socketState{family: unix.AF_INET, isUDP: true, number: 40000} }

// testResolver is the address to which the tests connect.
var testResolver = sockaddr("192.0.2.53:53")

// TestDatagramAddresses checks bind, connect and sendto of a UDP socket, which is a UNIX socket in
// fact, also with invalid addresses. None may harm the supervisor.
func TestDatagramAddresses(t *testing.T) {
	w := newDatagramWorld(t)
	for _, c := range []struct {
		what, call string
		raw        []byte
		want       outcome
	}{
		{"any port", "bind", sockaddr("0.0.0.0:0"), outcome{}},
		{"a port", "bind", sockaddr("0.0.0.0:5353"), failed(unix.EACCES)},
		{"no address", "bind", []byte{unix.AF_UNIX, 0, 'x', 0}, failed(unix.EINVAL)},
		{"half an address", "bind", sockaddr("0.0.0.0:0")[:7], failed(unix.EINVAL)},
		{"a byte", "bind", []byte{2}, failed(unix.EINVAL)},
		{"more than an address", "bind", make([]byte, 129), failed(unix.EINVAL)},
		{"a resolver", "connect", testResolver, outcome{}},
		{"one of the other family", "connect", sockaddr("[2001:db8::1]:53"), failed(unix.EAFNOSUPPORT)},
		{"half a resolver", "connect", testResolver[:7], failed(unix.EINVAL)},
		{"a byte", "connect", testResolver[:1], failed(unix.EINVAL)},
		{"a resolver in an address of the maximal size", "connect", append(slices.Clone(testResolver), make([]byte, 112)...), outcome{}},
		{"a resolver in a longer one", "connect", append(slices.Clone(testResolver), make([]byte, 113)...), failed(unix.EINVAL)},
	} {
		p, n := w.putName(c.raw)
		if got := w.call(unboundUDP(), c.call, 0, p, n); got != c.want {
			t.Errorf("%s, %s: %+v, want %+v", c.call, c.what, got, c.want)
		}
	}
	if got := w.call(unboundUDP(), "connect", 0, w.at(nameAt), 1<<32-1); got != failed(unix.EINVAL) {
		t.Errorf("connect, of less than nothing: %+v", got)
	}
	for _, c := range []struct {
		what string
		raw  []byte
		want outcome
	}{
		{"a resolver", testResolver, letProceed},
		{"one of the other family", sockaddr("[2001:db8::1]:53"), failed(unix.EAFNOSUPPORT)},
		{"without an address", nil, letProceed},
	} {
		p, n := w.putName(c.raw)
		if got := w.call(unboundUDP(), "sendto", 0, 0, 0, 0, p, n); got != c.want {
			t.Errorf("sendto, %s: %+v, want %+v", c.what, got, c.want)
		}
	}
}

// TestDatagramNames checks getpeername and getsockname, which cut an address to the room for it.
func TestDatagramNames(t *testing.T) {
	w := newDatagramWorld(t)
	named := func(o *socketState, what string, n int32) string {
		clear(w.memory[nameAt : nameAt+64])
		w.putSize(n)
		reply := w.call(o, what, 0, w.at(nameAt), w.at(sizeAt))
		if reply.errno != 0 {
			return unix.ErrnoName(reply.errno)
		}
		to, _ := sys.ParseSockaddr(w.memory[nameAt : nameAt+64])
		return fmt.Sprint(to, " ", binary.NativeEndian.Uint32(w.memory[sizeAt:]))
	}
	connected, told := unboundUDP(), unboundUDP()
	connected.setPeer(testResolver, nil)
	told.setPeer(nil, testResolver)
	for _, c := range []struct {
		o    *socketState
		what string
		room int32
		want string
	}{
		{unboundUDP(), "getpeername", 16, "ENOTCONN"},
		{told, "getpeername", 16, "ENOTCONN"},
		{connected, "getpeername", 16, "192.0.2.53:53 16"},
		{connected, "getpeername", 128, "192.0.2.53:53 16"},
		{connected, "getpeername", 6, "192.0.0.0:53 16"},
		{connected, "getpeername", -1, "EINVAL"},
		{unboundUDP(), "getsockname", 16, "0.0.0.0:0 16"},
		{told, "getsockname", 16, "0.0.0.0:40000 16"},
		{connected, "getsockname", 16, "127.0.0.1:40000 16"},
	} {
		if got := named(c.o, c.what, c.room); got != c.want {
			t.Errorf("%s with room for %d: %s, want %s", c.what, c.room, got, c.want)
		}
	}
}

// receive makes a call that receives, and returns what it has written, as a text.
func (w *datagramWorld) receive(o *socketState, what string, iovecs uint64, nameRoom int32, flags uint64) string {
	clear(w.memory[headerAt : headerAt+64])
	clear(w.memory[bufferAt : bufferAt+16])
	clear(w.memory[nameAt : nameAt+64])
	word := func(i int, v uint64) { binary.NativeEndian.PutUint64(w.memory[i:], v) }
	word(headerAt, w.at(nameAt))
	word(headerAt+msgNameLen, uint64(uint32(nameRoom)))
	word(headerAt+msgIov, w.at(iovecAt))
	word(headerAt+msgIovLen, iovecs)
	word(headerAt+msgControlLen, 7)
	word(iovecAt, w.at(bufferAt))
	word(iovecAt+8, 4)
	w.putSize(16)
	var reply outcome
	switch what {
	case "recvfrom":
		reply = w.call(o, what, 0, w.at(bufferAt), 4, flags, w.at(nameAt), w.at(sizeAt))
	case "recvmmsg":
		reply = w.call(o, what, 0, w.at(headerAt), 1, flags)
	default:
		reply = w.call(o, what, 0, w.at(headerAt), flags)
	}
	if reply.errno != 0 || reply.done || reply.proceed {
		return fmt.Sprint(unix.ErrnoName(reply.errno), " ", reply.done, reply.proceed)
	}
	said := fmt.Sprintf("%d %q", reply.val, strings.TrimRight(string(w.memory[bufferAt:bufferAt+16]), "\x00"))
	if what != "recvfrom" {
		h := func(i int) uint32 { return binary.NativeEndian.Uint32(w.memory[headerAt+i:]) }
		to, _ := sys.ParseSockaddr(w.memory[nameAt : nameAt+64])
		said += fmt.Sprintf(" flags %#x control %d name %d %s", h(msgFlags), h(msgControlLen), h(msgNameLen), to)
	}
	if what == "recvmmsg" {
		said += fmt.Sprint(" of ", binary.NativeEndian.Uint32(w.memory[headerAt+sizeofMsghdr:]))
	}
	return said
}

// openMemories counts the descriptors of a process's memory.
func openMemories() (n int) {
	for _, fd := range proc.ReadDirNames("/proc/self/fd") {
		if to, err := os.Readlink("/proc/self/fd/" + fd); err == nil && strings.HasSuffix(to, "/mem") {
			n++
		}
	}
	return n
}

// TestDatagramAnswers checks the calls that receive, also with invalid arguments.
func TestDatagramAnswers(t *testing.T) {
	w := newDatagramWorld(t)
	connected := unboundUDP()
	connected.setPeer(testResolver, nil)
	const dontWait, peek, trunc, errors = unix.MSG_DONTWAIT, unix.MSG_PEEK, unix.MSG_TRUNC, unix.MSG_ERRQUEUE
	before := openMemories()
	none := "EAGAIN false false"
	if got := w.receive(connected, "recvfrom", 1, 16, dontWait); got != none {
		t.Errorf("before there is one: %s", got)
	}
	testkit.Must(t, unix.SetNonblock(w.pair[0], true))
	if got := w.receive(connected, "recvfrom", 1, 16, 0); got != none {
		t.Errorf("by a socket that does not wait: %s", got)
	}
	testkit.Must(t, unix.SetNonblock(w.pair[0], false))
	for _, c := range []struct {
		what     string
		iovecs   uint64
		nameRoom int32
		flags    uint64
		want     string
		takes    bool
	}{
		{"recvfrom", 1, 16, 0, `4 "answ"`, true},
		{"recvfrom", 1, 16, peek, `4 "answ"`, false},
		{"recvfrom", 1, 16, trunc, `6 "answ"`, true},
		{"recvfrom", 1, 16, errors, none, false},
		{"recvmsg", 1, 16, 0, `4 "answ" flags 0x20 control 0 name 16 192.0.2.53:53`, true},
		{"recvmsg", 1, 16, trunc, `6 "answ" flags 0x20 control 0 name 16 192.0.2.53:53`, true},
		{"recvmsg", 1, 6, 0, `4 "answ" flags 0x20 control 0 name 16 192.0.0.0:53`, true},
		{"recvmsg", 1, -1, 0, `4 "answ" flags 0x20 control 0 name 16 invalid AddrPort`, true},
		{"recvmsg", 1, 1 << 20, 0, `4 "answ" flags 0x20 control 0 name 16 192.0.2.53:53`, true},
		{"recvmsg", 0, 16, 0, `0 "" flags 0x20 control 0 name 16 192.0.2.53:53`, true},
		{"recvmsg", maxMessages + 1, 16, 0, "EMSGSIZE false false", false},
		{"recvmsg", 1 << 62, 16, 0, "EMSGSIZE false false", false},
		{"recvmmsg", 1, 16, 0, `1 "answ" flags 0x20 control 0 name 16 192.0.2.53:53 of 4`, true},
	} {
		testkit.Must(t, unix.Send(w.pair[1], []byte("answer"), 0))
		if got := w.receive(connected, c.what, c.iovecs, c.nameRoom, c.flags); got != c.want {
			t.Errorf("%s, %d pieces, room for a name %d, flags %#x: %s, want %s", c.what, c.iovecs, c.nameRoom, c.flags, got, c.want)
		}
		_, _, err := unix.Recvfrom(w.pair[0], make([]byte, 16), unix.MSG_DONTWAIT)
		if took := err == unix.EAGAIN; took != c.takes {
			t.Errorf("%s, %d pieces, flags %#x: the answer is taken: %t", c.what, c.iovecs, c.flags, took)
		}
	}
	if after := openMemories(); after != before {
		t.Errorf("%d of the memories that were written to are still open", after-before)
	}
}
