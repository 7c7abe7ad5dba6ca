//go:build !linux

package egress

import "net"

func (g *Gateway) acceptPending(*net.TCPListener) {}
