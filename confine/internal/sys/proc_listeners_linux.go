package sys

import (
	"encoding/hex"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// ShowsListeners reports whether a net directory of proc can be read.
func ShowsListeners(dir string) bool { return unix.Access(dir+"/tcp", unix.R_OK) == nil }

// LoopbackListeners returns a function that reports whether a program listens at a port of the
// loopback of a network namespace, by its net directory in proc. host is "localhost" or a loopback address.
// What cannot be read has no listeners.
func LoopbackListeners(dir string) func(host string, port int) bool {
	listening := map[netip.AddrPort]bool{}
	for _, name := range []string{"/tcp", "/tcp6"} {
		sockets, _ := listeningSockets(dir + name)
		for _, at := range sockets {
			listening[at] = true
		}
	}
	return func(host string, port int) bool {
		addrs := []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}
		if addr, err := netip.ParseAddr(host); err == nil {
			addrs = []netip.Addr{addr}
		}
		for _, addr := range append(addrs, netip.IPv4Unspecified(), netip.IPv6Unspecified()) {
			if listening[netip.AddrPortFrom(addr, uint16(port))] {
				return true
			}
		}
		return false
	}
}

// maxListening bounds what is read of the kernel's list of sockets: 500 of them.
const maxListening = 75_000

// Listening returns the TCP ports at which programs of the network namespace of a process listen,
// sorted. known is false if that is our own, or if the process has ended.
func Listening(pid int) (ports []int, known bool) {
	dir := "/proc/" + strconv.Itoa(pid)
	own, err := os.Readlink("/proc/self/ns/net")
	theirs, errTheirs := os.Readlink(dir + "/ns/net")
	if err != nil || errTheirs != nil || own == theirs {
		return nil, false
	}
	ports = []int{}
	for _, name := range []string{"/net/tcp", "/net/tcp6"} {
		sockets, err := listeningSockets(dir + name)
		if err != nil && !os.IsNotExist(err) { // no IPv6
			return nil, false
		}
		for _, at := range sockets {
			ports = append(ports, int(at.Port()))
		}
	}
	slices.Sort(ports)
	return slices.Compact(ports), true
}

// listeningSockets returns the addresses of the listening sockets in a list of proc_net_tcp(5).
func listeningSockets(file string) (at []netip.AddrPort, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	buf := make([]byte, maxListening)
	n := 0
	for n < len(buf) {
		more, err := f.Read(buf[n:])
		if n += more; err != nil || more == 0 {
			break
		}
	}
	for line := range strings.Lines(string(buf[:n])) {
		const listen = "0A"
		if fields := strings.Fields(line); len(fields) > 3 && fields[3] == listen { // sl, local address, remote address, state
			if socket, ok := parseSocketAddress(fields[1]); ok {
				at = append(at, socket)
			}
		}
	}
	return at, nil
}

// parseSocketAddress parses an address of /proc/net/tcp: words of 32 bits in the byte order of the
// machine, and the port.
func parseSocketAddress(s string) (netip.AddrPort, bool) {
	address, number, _ := strings.Cut(s, ":")
	port, err := strconv.ParseUint(number, 16, 16)
	b, errHex := hex.DecodeString(address)
	if err != nil || errHex != nil || len(b)%4 != 0 {
		return netip.AddrPort{}, false
	}
	for i := 0; i < len(b); i += 4 { // amd64 and arm64 are little-endian
		b[i], b[i+1], b[i+2], b[i+3] = b[i+3], b[i+2], b[i+1], b[i]
	}
	addr, ok := netip.AddrFromSlice(b)
	return netip.AddrPortFrom(addr.Unmap(), uint16(port)), ok
}

// HasSocket reports whether a program of this network namespace has a socket at a path.
func HasSocket(path string) (bool, error) {
	text, err := os.ReadFile("/proc/self/net/unix")
	return strings.Contains(string(text), " "+path+"\n"), err
}
