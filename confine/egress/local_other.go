//go:build !linux

package egress

import (
	"errors"
	"net/netip"
)

// isLocal is the default of Options.IsLocal. No jail of these systems has a Gateway.
func isLocal(netip.Addr) (bool, error) {
	return false, errors.New("the routes of this system are not read")
}
