//go:build !linux

package egress

import "net"

// hasBuffered is not known here.
func hasBuffered(c *net.TCPConn) bool { return true }
