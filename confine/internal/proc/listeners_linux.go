package proc

import (
	"encoding/hex"
	"net/netip"
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
		b, _ := ReadFile(dir + name)
		for line := range strings.Lines(string(b)) {
			// "sl local_address rem_address st …": proc_net_tcp(5)
			const listen = "0A"
			if f := strings.Fields(line); len(f) > 3 && f[3] == listen {
				if at, ok := parseSocketAddress(f[1]); ok {
					listening[at] = true
				}
			}
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
