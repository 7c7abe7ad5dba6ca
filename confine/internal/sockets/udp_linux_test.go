package sockets

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp"
	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp/seccomptest"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// memory holds the arguments of calls.
type memory []byte

func newMemory(t *testing.T) memory {
	m := testkit.Get(unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON))(t)
	t.Cleanup(func() { unix.Munmap(m) })
	return m
}

// at returns the address of a byte.
func (m memory) at(i int) uint64 { return uint64(uintptr(unsafe.Pointer(&m[i]))) }

// Offsets of the arguments.
const (
	headerAt = 0
	nameAt   = 128
	sizeAt   = 512
)

func sockaddr(s string) []byte { return sys.Sockaddr(netip.MustParseAddrPort(s)) }

var testResolver = sockaddr("192.0.2.53:53")

// datagramCall returns the outcome of a call on a UDP socket.
func datagramCall(t *testing.T) func(o *socket, what string, args ...uint64) outcome {
	l, id, _ := seccomptest.HeldCall(t)
	h := &Handler{listener: &l}
	return func(o *socket, what string, args ...uint64) outcome {
		n := &seccomp.Notification{Id: id, Tid: uint32(os.Getpid())}
		copy(n.Args[:], args)
		if what == "bind" {
			return failed(h.bind(n, o))
		}
		return h.datagram(n, what, o)
	}
}

// TestDatagramAddresses checks bind, connect and sendto of a UDP socket, which is a UNIX socket in
// fact, also with invalid addresses. None may harm the supervisor.
func TestDatagramAddresses(t *testing.T) {
	m, call := newMemory(t), datagramCall(t)
	otherFamily := sockaddr("[2001:db8::1]:53")
	for _, c := range []struct {
		what, call string
		raw        []byte
		want       outcome
		asked      bool // an answer comes from there
	}{
		{"any port", "bind", sockaddr("0.0.0.0:0"), outcome{}, false},
		{"a port", "bind", sockaddr("0.0.0.0:5353"), failed(unix.EACCES), false},
		{"no Internet address", "bind", []byte{unix.AF_UNIX, 0, 'x', 0}, failed(unix.EAFNOSUPPORT), false},
		{"half an address", "bind", sockaddr("0.0.0.0:0")[:7], failed(unix.EINVAL), false},
		{"a byte", "bind", []byte{2}, failed(unix.EINVAL), false},
		{"more than an address", "bind", make([]byte, 129), failed(unix.EINVAL), false},
		{"a resolver", "connect", testResolver, outcome{}, true},
		{"no address", "connect", make([]byte, 16), outcome{}, false},
		{"one of the other family", "connect", otherFamily, failed(unix.EAFNOSUPPORT), false},
		{"half a resolver", "connect", testResolver[:7], failed(unix.EINVAL), false},
		{"a resolver in an address of the maximal size", "connect", append(slices.Clone(testResolver), make([]byte, 112)...), outcome{}, true},
		{"a resolver in a longer one", "connect", append(slices.Clone(testResolver), make([]byte, 113)...), failed(unix.EINVAL), false},
		{"a resolver", "sendto", testResolver, letProceed, true},
		{"one of the other family", "sendto", otherFamily, failed(unix.EAFNOSUPPORT), false},
	} {
		copy(m[nameAt:], c.raw)
		at, size := m.at(nameAt), uint64(len(c.raw))
		args := []uint64{0, at, size}
		if c.call == "sendto" {
			args = []uint64{0, 0, 0, 0, at, size}
		}
		o := &socket{family: unix.AF_INET, fd: -1}
		if got := call(o, c.call, args...); got != c.want || c.asked != (o.peer != nil) {
			t.Errorf("%s, %s: %+v, want %+v; asks %v", c.call, c.what, got, c.want, o.peer)
		}
	}
	o := &socket{family: unix.AF_INET, fd: -1}
	testkit.Equal(t, "connect, of less than nothing", call(o, "connect", 0, m.at(nameAt), 1<<32-1), failed(unix.EINVAL))
}

// TestDatagramNames checks the addresses that getsockname and the calls that receive write. They do
// not write beyond the room that there is.
func TestDatagramNames(t *testing.T) {
	m, call := newMemory(t), datagramCall(t)
	for _, c := range []struct {
		call string
		peer []byte
		room int32
		want string
	}{
		{"recvfrom", testResolver, 16, "192.0.2.53:53"},
		{"recvfrom", testResolver, 128, "192.0.2.53:53"},
		{"recvfrom", testResolver, 6, "192.0.0.0:53"},
		{"recvfrom", testResolver, 0, "none"},
		{"recvfrom", testResolver, -1, "none"},
		{"recvfrom", nil, 16, "none"},
		{"recvmsg", testResolver, 16, "192.0.2.53:53"},
		{"recvmsg", testResolver, 6, "192.0.0.0:53"},
		{"recvmsg", testResolver, -1, "none"},
		{"recvmsg", nil, 16, "none"},
		{"getsockname", testResolver, 16, "127.0.0.1:32768"},
		{"getsockname", nil, 4, "0.0.0.0:32768"},
	} {
		clear(m)
		binary.NativeEndian.PutUint64(m[headerAt:], m.at(nameAt))
		binary.NativeEndian.PutUint32(m[headerAt+8:], uint32(c.room))
		binary.NativeEndian.PutUint32(m[sizeAt:], uint32(c.room))
		o, want := &socket{family: unix.AF_INET, fd: -1, peer: c.peer}, letProceed
		var got outcome
		switch c.call {
		case "recvfrom":
			got = call(o, c.call, 0, 0, 0, 0, m.at(nameAt), m.at(sizeAt))
		case "recvmsg":
			got = call(o, c.call, 0, m.at(headerAt))
		case "getsockname":
			got, want = call(o, c.call, 0, m.at(nameAt), m.at(sizeAt)), outcome{}
			testkit.Equal(t, "getsockname says … bytes", binary.NativeEndian.Uint32(m[sizeAt:]), 16)
		}
		written := "none"
		if to, ok := sys.ParseSockaddr(m[nameAt : nameAt+64]); ok {
			written = fmt.Sprint(to)
		}
		if got != want || written != c.want {
			t.Errorf("%s with room for %d: %+v, %s, want %s", c.call, c.room, got, written, c.want)
		}
	}
}
