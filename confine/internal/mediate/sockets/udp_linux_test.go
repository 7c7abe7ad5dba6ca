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
	"golang.org/x/sys/unix"
)

// TestDatagramCalls checks the answers about a UDP socket, which is a UNIX socket in fact, also
// for invalid arguments, none of which may harm the supervisor.
func TestDatagramCalls(t *testing.T) {
	l, id, _ := seccomptest.HeldCall(t)
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pair[0])
	defer unix.Close(pair[1])
	m, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(m)
	at := func(i int) uint64 { return uint64(uintptr(unsafe.Pointer(&m[i]))) }
	const header, iovec, name, size, buffer = 0, 64, 128, 192, 256
	resolver := sys.Sockaddr(netip.MustParseAddrPort("192.0.2.53:53"))
	call := func(o *socketState, what string, args ...uint64) outcome {
		n := &seccomp.Notification{Id: id, Tid: uint32(os.Getpid())}
		copy(n.Args[:], args)
		return (&Handler{Listener: &l}).datagram(n, what, pair[0], o)
	}
	put := func(b []byte) (uint64, uint64) {
		copy(m[name:], b)
		return at(name), uint64(len(b))
	}
	inet := func(s string) []byte { return sys.Sockaddr(netip.MustParseAddrPort(s)) }
	fresh := func() *socketState { return &socketState{family: unix.AF_INET, isUDP: true, number: 40000} }

	for _, c := range []struct {
		what, call string
		raw        []byte
		want       outcome
	}{
		{"whatever port", "bind", inet("0.0.0.0:0"), outcome{}},
		{"a port", "bind", inet("0.0.0.0:5353"), failed(unix.EACCES)},
		{"no address", "bind", []byte{unix.AF_UNIX, 0, 'x', 0}, failed(unix.EINVAL)},
		{"half an address", "bind", inet("0.0.0.0:0")[:7], failed(unix.EINVAL)},
		{"a byte", "bind", []byte{2}, failed(unix.EINVAL)},
		{"more than an address", "bind", make([]byte, 129), failed(unix.EINVAL)},
		{"a resolver", "connect", resolver, outcome{}},
		{"one of the other family", "connect", inet("[2001:db8::1]:53"), failed(unix.EAFNOSUPPORT)},
		{"half a resolver", "connect", resolver[:7], failed(unix.EINVAL)},
		{"a byte", "connect", resolver[:1], failed(unix.EINVAL)},
		{"a resolver in all that an address can be", "connect", append(slices.Clone(resolver), make([]byte, 112)...), outcome{}},
		{"and in more", "connect", append(slices.Clone(resolver), make([]byte, 113)...), failed(unix.EINVAL)},
	} {
		p, n := put(c.raw)
		if got := call(fresh(), c.call, 0, p, n); got != c.want {
			t.Errorf("%s, %s: %+v, want %+v", c.call, c.what, got, c.want)
		}
	}
	if got := call(fresh(), "connect", 0, at(name), 1<<32-1); got != failed(unix.EINVAL) {
		t.Errorf("connect, of less than nothing: %+v", got)
	}
	for _, c := range []struct {
		what string
		raw  []byte
		want outcome
	}{
		{"a resolver", resolver, letProceed},
		{"one of the other family", inet("[2001:db8::1]:53"), failed(unix.EAFNOSUPPORT)},
		{"without an address", nil, letProceed},
	} {
		p, n := put(c.raw)
		if got := call(fresh(), "sendto", 0, 0, 0, 0, p, n); got != c.want {
			t.Errorf("sendto, %s: %+v, want %+v", c.what, got, c.want)
		}
	}

	// Names: of the peer where there is one, cut to the room that there is.
	room := func(n int32) { binary.NativeEndian.PutUint32(m[size:], uint32(n)) }
	named := func(o *socketState, what string, n int32) string {
		clear(m[name : name+64])
		room(n)
		reply := call(o, what, 0, at(name), at(size))
		if reply.errno != 0 {
			return unix.ErrnoName(reply.errno)
		}
		to, _ := sys.ParseSockaddr(m[name : name+64])
		return fmt.Sprint(to, " ", binary.NativeEndian.Uint32(m[size:]))
	}
	connected, told := fresh(), fresh()
	connected.setPeer(resolver, nil)
	told.setPeer(nil, resolver)
	for _, c := range []struct {
		o    *socketState
		what string
		room int32
		want string
	}{
		{fresh(), "getpeername", 16, "ENOTCONN"},
		{told, "getpeername", 16, "ENOTCONN"},
		{connected, "getpeername", 16, "192.0.2.53:53 16"},
		{connected, "getpeername", 128, "192.0.2.53:53 16"},
		{connected, "getpeername", 6, "192.0.0.0:53 16"},
		{connected, "getpeername", -1, "EINVAL"},
		{fresh(), "getsockname", 16, "0.0.0.0:0 16"},
		{told, "getsockname", 16, "0.0.0.0:40000 16"},
		{connected, "getsockname", 16, "127.0.0.1:40000 16"},
	} {
		if got := named(c.o, c.what, c.room); got != c.want {
			t.Errorf("%s with room for %d: %s, want %s", c.what, c.room, got, c.want)
		}
	}

	// Answers.
	receives := func(what string, iovecs uint64, nameRoom int32, flags uint64) string {
		clear(m[header : header+64])
		clear(m[buffer : buffer+16])
		clear(m[name : name+64])
		word := func(i int, v uint64) { binary.NativeEndian.PutUint64(m[i:], v) }
		word(header, at(name))
		word(header+msgNameLen, uint64(uint32(nameRoom)))
		word(header+msgIov, at(iovec))
		word(header+msgIovLen, iovecs)
		word(header+msgControlLen, 7)
		word(iovec, at(buffer))
		word(iovec+8, 4)
		room(16)
		var reply outcome
		switch what {
		case "recvfrom":
			reply = call(connected, what, 0, at(buffer), 4, flags, at(name), at(size))
		case "recvmmsg":
			reply = call(connected, what, 0, at(header), 1, flags)
		default:
			reply = call(connected, what, 0, at(header), flags)
		}
		if reply.errno != 0 || reply.done || reply.proceed {
			return fmt.Sprint(unix.ErrnoName(reply.errno), " ", reply.done, reply.proceed)
		}
		said := fmt.Sprintf("%d %q", reply.val, strings.TrimRight(string(m[buffer:buffer+16]), "\x00"))
		if what != "recvfrom" {
			h := func(i int) uint32 { return binary.NativeEndian.Uint32(m[header+i:]) }
			to, _ := sys.ParseSockaddr(m[name : name+64])
			said += fmt.Sprintf(" flags %#x control %d name %d %s", h(msgFlags), h(msgControlLen), h(msgNameLen), to)
		}
		if what == "recvmmsg" {
			said += fmt.Sprint(" of ", binary.NativeEndian.Uint32(m[header+sizeofMsghdr:]))
		}
		return said
	}
	const dontWait, peek, trunc, errors = unix.MSG_DONTWAIT, unix.MSG_PEEK, unix.MSG_TRUNC, unix.MSG_ERRQUEUE
	memories := func() (n int) {
		for _, fd := range proc.ReadDirNames("/proc/self/fd") {
			if to, err := os.Readlink("/proc/self/fd/" + fd); err == nil && strings.HasSuffix(to, "/mem") {
				n++
			}
		}
		return n
	}
	before := memories()
	none := "EAGAIN false false"
	if got := receives("recvfrom", 1, 16, dontWait); got != none {
		t.Errorf("before there is one: %s", got)
	}
	if err := unix.SetNonblock(pair[0], true); err != nil {
		t.Fatal(err)
	}
	if got := receives("recvfrom", 1, 16, 0); got != none {
		t.Errorf("by a socket that does not wait: %s", got)
	}
	if err := unix.SetNonblock(pair[0], false); err != nil {
		t.Fatal(err)
	}
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
		if err := unix.Send(pair[1], []byte("answer"), 0); err != nil {
			t.Fatal(err)
		}
		if got := receives(c.what, c.iovecs, c.nameRoom, c.flags); got != c.want {
			t.Errorf("%s, %d pieces, room for a name %d, flags %#x: %s, want %s", c.what, c.iovecs, c.nameRoom, c.flags, got, c.want)
		}
		_, _, err := unix.Recvfrom(pair[0], make([]byte, 16), unix.MSG_DONTWAIT)
		if took := err == unix.EAGAIN; took != c.takes {
			t.Errorf("%s, %d pieces, flags %#x: the answer is taken: %t", c.what, c.iovecs, c.flags, took)
		}
	}
	if after := memories(); after != before {
		t.Errorf("%d of the memories that were written to are still open", after-before)
	}
}
