package egress

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/netip"
	"time"
)

const (
	queriesAtOnce  = 128
	dnsTCPAtOnce   = 32
	dnsTCPIdle     = 10 * time.Second
	standInsAtOnce = 1024
	acceptPatience = 100 * time.Millisecond // after accept failed, say for want of descriptors
)

// Serve takes over the sockets and returns at once; they are served until Close.
func (g *Gate) Serve(s Sockets) {
	if s.DNS != nil && g.keep(s.DNS) {
		g.start(func() { g.serveUDP(s.DNS) })
	}
	if s.DNSTCP != nil && g.keep(s.DNSTCP) {
		g.start(func() { g.serveDNSTCP(s.DNSTCP) })
	}
	for _, l := range s.TCP {
		if g.keep(l) {
			g.start(func() { g.listen(l) })
		}
	}
	if s.Refused != nil && g.keep(s.Refused) {
		g.watch(s.Refused)
	}
}

// Accept takes over a connection to a destination that is known some other way than
// from its local address. It returns at once. Port 53 leads to the Gate's own DNS.
func (g *Gate) Accept(c *net.TCPConn, to netip.AddrPort) {
	if !g.startServing(func() {
		switch {
		case !g.queue(to):
			reset(c)
		case to.Port() == dnsPort:
			defer func() { <-g.slots }()
			g.answerTCP(c)
		default:
			g.inSlot(c, to)
		}
	}) {
		reset(c)
	}
}

// queue waits for room among a number of others that is bounded too.
func (g *Gate) queue(to netip.AddrPort) bool {
	defer g.waiting.Add(-1)
	if g.waiting.Add(1) > int64(cap(g.slots)) {
		d := g.decide(to)
		g.deny(&d, TooMany, fmt.Sprintf("connections = %d are open, and as many wait", cap(g.slots)))
		return false
	}
	return g.slot(to)
}

// slot waits for room for one more connection; false at the end.
func (g *Gate) slot(to netip.AddrPort) bool {
	select {
	case g.slots <- struct{}{}:
		return true
	default:
	}
	d := g.decide(to)
	g.deny(&d, TooMany, fmt.Sprintf("it waited: connections = %d are open", g.o.Limits.Connections))
	select {
	case g.slots <- struct{}{}:
		return true
	case <-g.jail.Done():
		return false
	}
}

func (g *Gate) inSlot(c *net.TCPConn, to netip.AddrPort) {
	defer func() { <-g.slots }()
	g.serve(c, to)
}

// listen accepts connections. Those for which there is no room wait in the kernel.
func (g *Gate) listen(l *net.TCPListener) {
	for {
		c, err := l.AcceptTCP()
		if err != nil {
			if !g.again() {
				return
			}
			continue
		}
		to := c.LocalAddr().(*net.TCPAddr).AddrPort()
		if !g.slot(to) || !g.startServing(func() { g.inSlot(c, to) }) {
			reset(c)
			return
		}
	}
}

// again waits a little after an error; false at the end.
func (g *Gate) again() bool {
	select {
	case <-g.jail.Done():
		return false
	case <-time.After(acceptPatience):
		return true
	}
}

// serveUDP answers DNS questions, each from the address that it was sent to: the
// control message that says so is sent back as it came.
func (g *Gate) serveUDP(c *net.UDPConn) {
	var b [4096]byte
	var control [256]byte
	for {
		n, m, _, from, err := c.ReadMsgUDPAddrPort(b[:], control[:])
		if err != nil {
			if !g.again() {
				return
			}
			continue
		}
		query, where := append([]byte(nil), b[:n]...), append([]byte(nil), control[:m]...)
		select {
		case g.queries <- struct{}{}:
		default:
			continue // it will be asked again
		}
		if !g.start(func() {
			defer func() { <-g.queries }()
			if answer := g.Answer(query, false); answer != nil {
				c.WriteMsgUDPAddrPort(answer, where, from)
			}
		}) {
			return
		}
	}
}

func (g *Gate) serveDNSTCP(l *net.TCPListener) {
	room := make(chan struct{}, dnsTCPAtOnce)
	for {
		c, err := l.AcceptTCP()
		if err != nil {
			if !g.again() {
				return
			}
			continue
		}
		select {
		case room <- struct{}{}:
		case <-g.ctx.Done():
			reset(c)
			return
		}
		if !g.start(func() {
			defer func() { <-room }()
			g.answerTCP(c)
		}) {
			reset(c)
			return
		}
	}
}

// answerTCP answers one question after the other (RFC 1035 4.2.2).
func (g *Gate) answerTCP(c *net.TCPConn) {
	defer c.Close()
	stop := context.AfterFunc(g.jail, func() { c.Close() })
	defer stop()
	var b [2 + 1<<16]byte
	for {
		c.SetDeadline(time.Now().Add(dnsTCPIdle))
		if _, err := io.ReadFull(c, b[:2]); err != nil {
			return
		}
		query := b[2 : 2+int(binary.BigEndian.Uint16(b[:]))]
		if _, err := io.ReadFull(c, query); err != nil {
			return
		}
		answer := g.Answer(query, true)
		if answer == nil {
			return
		}
		c.SetDeadline(time.Now().Add(dnsTCPIdle))
		if _, err := c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...)); err != nil {
			return
		}
	}
}
