package egress

import (
	"net"
	"os"
	"syscall"
)

// acceptPending accepts the connections that wait in the kernel's queue of a listener. The
// program of such a connection may have written and ended already. If the listener were closed,
// the bytes that it wrote would be lost.
func (g *Gateway) acceptPending(l *net.TCPListener) {
	raw, err := l.SyscallConn()
	if err != nil {
		return
	}
	for {
		fd := -1
		raw.Control(func(s uintptr) {
			for err = syscall.EINTR; err == syscall.EINTR; {
				fd, _, err = syscall.Accept4(int(s), syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC)
			}
		})
		if fd < 0 {
			return
		}
		f := os.NewFile(uintptr(fd), "connection of the jail")
		c, err := net.FileConn(f)
		f.Close()
		conn, ok := c.(*net.TCPConn)
		if err != nil || !ok {
			continue
		}
		to := conn.LocalAddr().(*net.TCPAddr).AddrPort()
		select {
		case g.slots <- struct{}{}:
		default: // it had to wait for a slot
			reset(conn)
			continue
		}
		if !g.life.spawnServing(func() { g.serveInSlot(conn, to) }) {
			<-g.slots
			reset(conn)
		}
	}
}
