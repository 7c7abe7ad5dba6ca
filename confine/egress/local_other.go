//go:build !linux

package egress

import (
	"fmt"
	"net"
	"net/netip"
)

// isLocal is the default of Options.IsLocal. It compares with the addresses of the host's interfaces.
func isLocal(addr netip.Addr) (bool, error) {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return false, fmt.Errorf("the addresses of the interfaces: %w", err)
	}
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok {
			if own, ok := netip.AddrFromSlice(n.IP); ok && own.Unmap() == addr.Unmap() {
				return true, nil
			}
		}
	}
	return false, nil
}
