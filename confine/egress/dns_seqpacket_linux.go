package egress

import (
	"bytes"
	"context"
	"net"
	"net/netip"
	"syscall"
	"time"
)

const seqpacketWriteTimeout = time.Second // if the program does not read

// ServeSeqpacket takes over a SOCK_SEQPACKET connection, on which each message is a datagram that
// a program sent by UDP. It answers the DNS queries. It returns at once.
func (g *Gateway) ServeSeqpacket(c *net.UnixConn) {
	select {
	case g.seqpacketSlots <- struct{}{}:
	default:
		c.Close()
		return
	}
	if !g.life.spawn(func() {
		defer func() { <-g.seqpacketSlots }()
		g.serveSeqpacket(c)
	}) {
		c.Close()
	}
}

// ConnectedMessage returns the message that tells ServeSeqpacket the destination of the
// messages after it. It cannot be mistaken for a DNS query.
func ConnectedMessage(to netip.AddrPort) []byte { return []byte(connectedPrefix + to.String()) }

const connectedPrefix = "mcp-jail: connected to "

func parseConnected(message []byte) (to netip.AddrPort, ok bool) {
	text, ok := bytes.CutPrefix(message, []byte(connectedPrefix))
	if !ok {
		return to, false
	}
	to, err := netip.ParseAddrPort(string(text))
	return to, err == nil
}

func (g *Gateway) serveSeqpacket(c *net.UnixConn) {
	defer c.Close()
	stop := context.AfterFunc(g.life.ctx, func() { c.Close() })
	defer stop()
	var b [4096]byte
	var to netip.AddrPort // not valid if unknown
	for {
		if to.IsValid() && to.Port() != dnsPort {
			n, err := peekMessage(c, b[:])
			if err != nil {
				return
			}
			if _, again := parseConnected(b[:n]); !again {
				g.Refuse("udp", to)
				return // the unread message makes the close an error for the program
			}
		}
		n, err := c.Read(b[:])
		if err != nil {
			return
		}
		if where, ok := parseConnected(b[:n]); ok {
			to = where
			continue
		}
		if !g.answerSeqpacket(c, append([]byte(nil), b[:n]...)) {
			return
		}
	}
}

func (g *Gateway) answerSeqpacket(c *net.UnixConn, query []byte) (ok bool) {
	select {
	case g.querySlots <- struct{}{}:
	default:
		return true // the client will retry
	}
	return g.life.spawn(func() {
		defer func() { <-g.querySlots }()
		if answer := g.Answer(query); answer != nil {
			c.SetWriteDeadline(time.Now().Add(seqpacketWriteTimeout))
			c.Write(answer)
		}
	})
}

func peekMessage(c *net.UnixConn, b []byte) (n int, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	var failed error
	err = raw.Read(func(fd uintptr) bool {
		n, _, failed = syscall.Recvfrom(int(fd), b, syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		return failed != syscall.EAGAIN && failed != syscall.EINTR
	})
	if err == nil && failed == nil && n == 0 {
		failed = net.ErrClosed
	}
	if err == nil {
		err = failed
	}
	return n, err
}
