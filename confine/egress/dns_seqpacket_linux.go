package egress

import (
	"context"
	"net"
	"time"
)

const seqpacketWriteTimeout = time.Second // if the program does not read

// ServeSeqpacket takes over a SOCK_SEQPACKET connection, on which each message is a DNS query that
// a program sends by UDP. It returns at once. It reports false, and closes the connection, if there are
// too many.
func (g *Gateway) ServeSeqpacket(c *net.UnixConn) bool {
	select {
	case g.seqpacketSlots <- struct{}{}:
	default:
		c.Close()
		return false
	}
	serves := g.life.spawn(func() {
		defer func() { <-g.seqpacketSlots }()
		g.serveSeqpacket(c)
	})
	if !serves {
		c.Close()
	}
	return serves
}

func (g *Gateway) serveSeqpacket(c *net.UnixConn) {
	defer c.Close()
	stop := context.AfterFunc(g.life.ctx, func() { c.Close() })
	defer stop()
	var b [4096]byte
	for {
		n, err := c.Read(b[:])
		if err != nil || g.queries.Wait(g.life.jailCtx) != nil || !g.answerSeqpacket(c, append([]byte(nil), b[:n]...)) {
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
		if answer := g.answer(query); answer != nil {
			c.SetWriteDeadline(time.Now().Add(seqpacketWriteTimeout))
			c.Write(answer)
		}
	})
}
