package egress

import (
	"net"
	"syscall"
)

func hasBuffered(c *net.TCPConn) (something bool) {
	raw, err := c.SyscallConn()
	if err != nil {
		return false
	}
	raw.Control(func(fd uintptr) {
		n, _, err := syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		something = err == nil && n > 0
	})
	return something
}
