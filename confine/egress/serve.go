package egress

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/mcp-jail/mcp-jail/policy"
)

const (
	maxQueries        = 128
	maxDNSTCP         = 32
	dnsTCPIdleTimeout = 10 * time.Second
	maxSeqpacket      = 1024
	acceptRetry       = 100 * time.Millisecond // after a failed accept, for example without descriptors
)

// Serve takes over the sockets and returns at once. The Gateway serves them until Close.
func (g *Gateway) Serve(s Sockets) {
	if s.DNS != nil && g.life.closeAtEnd(s.DNS) {
		g.life.spawn(func() { g.serveDNSUDP(s.DNS) })
	}
	if s.DNSTCP != nil && g.life.closeAtEnd(s.DNSTCP) {
		g.life.spawn(func() { g.serveDNSTCP(s.DNSTCP) })
	}
	for _, l := range s.TCP {
		if g.life.closeAtEnd(l) {
			g.mu.Lock()
			g.listeners = append(g.listeners, l)
			g.mu.Unlock()
			g.accepting.Add(1)
			if !g.life.spawn(func() { defer g.accepting.Done(); g.acceptLoop(l) }) {
				g.accepting.Done()
			}
		}
	}
	if s.Refused != nil && g.life.closeAtEnd(s.Refused) {
		g.watchRefusals(s.Refused)
	}
}

// Accept takes over a connection whose destination is not its local address. It returns at
// once. The Gateway's own DNS server answers connections to port 53.
func (g *Gateway) Accept(c *net.TCPConn, to netip.AddrPort) {
	if !g.life.spawnServing(func() {
		switch {
		case !g.queueForSlot(to):
			reset(c)
		case to.Port() == dnsPort:
			defer func() { <-g.slots }()
			g.answerDNSTCP(c)
		default:
			g.serveInSlot(c, to)
		}
	}) {
		reset(c)
	}
}

// queueForSlot is acquireSlot with a limit on the number of waiting connections.
func (g *Gateway) queueForSlot(to netip.AddrPort) bool {
	defer g.waiting.Add(-1)
	if g.waiting.Add(1) > int64(cap(g.slots)) {
		d := g.decide(to)
		g.denials.deny(&d, policy.DeniedLimit, g.tooManyWait())
		return false
	}
	return g.acquireSlot(to)
}

func (g *Gateway) tooManyWait() string {
	return fmt.Sprintf("%d connections are open, and as many wait", cap(g.slots))
}

// acquireSlot waits until another connection may be open. It returns false when the jail ends.
func (g *Gateway) acquireSlot(to netip.AddrPort) bool {
	select {
	case g.slots <- struct{}{}:
		return true
	default:
	}
	d := g.decide(to)
	return g.awaitSlot(&d)
}

func (g *Gateway) awaitSlot(d *destination) bool {
	g.denials.deny(d, policy.DeniedLimit, fmt.Sprintf("it had to wait: %d connections are open", g.o.Limits.Connections))
	select {
	case g.slots <- struct{}{}:
		return true
	case <-g.life.jailCtx.Done():
		return false
	}
}

func (g *Gateway) serveInSlot(c *net.TCPConn, to netip.AddrPort) {
	defer func() { <-g.slots }()
	g.serveConn(c, to)
}

// acceptLoop accepts connections. While one waits for a slot, the next ones wait in the kernel's
// queue.
func (g *Gateway) acceptLoop(l *net.TCPListener) {
	g.accept(l, func(c *net.TCPConn) bool {
		to := c.LocalAddr().(*net.TCPAddr).AddrPort()
		return g.acquireSlot(to) && g.life.spawnServing(func() { g.serveInSlot(c, to) })
	})
}

// accept passes connections to serve until that returns false, or the jail ends.
func (g *Gateway) accept(l *net.TCPListener, serve func(*net.TCPConn) bool) {
	for {
		c, err := l.AcceptTCP()
		switch {
		case err == nil && !serve(c):
			reset(c)
			return
		case err != nil && !g.life.waitRetry():
			return
		}
	}
}

// serveDNSUDP answers DNS queries, each from the address that the query was sent to. To do
// so it sends the control message of the query (IPV6_PKTINFO) back with the answer.
func (g *Gateway) serveDNSUDP(c *net.UDPConn) {
	var b [4096]byte
	var control [256]byte
	for g.queries.Wait(g.life.jailCtx) == nil {
		n, m, _, from, err := c.ReadMsgUDPAddrPort(b[:], control[:])
		if err != nil {
			if !g.life.waitRetry() {
				return
			}
			continue
		}
		query, where := append([]byte(nil), b[:n]...), append([]byte(nil), control[:m]...)
		select {
		case g.querySlots <- struct{}{}:
		default:
			continue // the client will retry
		}
		if !g.life.spawn(func() {
			defer func() { <-g.querySlots }()
			if answer := g.answer(query); answer != nil {
				c.WriteMsgUDPAddrPort(answer, where, from)
			}
		}) {
			return
		}
	}
}

func (g *Gateway) serveDNSTCP(l *net.TCPListener) {
	room := make(chan struct{}, maxDNSTCP)
	g.accept(l, func(c *net.TCPConn) bool {
		select {
		case room <- struct{}{}:
		case <-g.life.ctx.Done():
			return false
		}
		return g.life.spawn(func() {
			defer func() { <-room }()
			g.answerDNSTCP(c)
		})
	})
}

func (g *Gateway) answerDNSTCP(c *net.TCPConn) {
	defer c.Close()
	stop := context.AfterFunc(g.life.jailCtx, func() { c.Close() })
	defer stop()
	var b [2 + 1<<16]byte
	for {
		c.SetDeadline(time.Now().Add(dnsTCPIdleTimeout))
		if _, err := io.ReadFull(c, b[:2]); err != nil {
			return
		}
		query := b[2 : 2+int(binary.BigEndian.Uint16(b[:]))]
		if _, err := io.ReadFull(c, query); err != nil || g.queries.Wait(g.life.jailCtx) != nil {
			return
		}
		answer := g.answer(query)
		if answer == nil {
			return
		}
		c.SetDeadline(time.Now().Add(dnsTCPIdleTimeout))
		if _, err := c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...)); err != nil {
			return
		}
	}
}

// lifetime holds the goroutines and sockets of a Gateway, and ends them.
type lifetime struct {
	jailCtx context.Context // ends when Close begins
	endJail context.CancelFunc
	ctx     context.Context // ends when Close has drained the connections
	cancel  context.CancelFunc
	limits  drainLimits

	mu      sync.Mutex
	closed  bool
	closers []io.Closer    // closed at the end
	serving sync.WaitGroup // counts connections
	wg      sync.WaitGroup
}

func (l *lifetime) begin() {
	l.limits = defaultDrainLimits
	l.ctx, l.cancel = context.WithCancel(context.Background())
	l.jailCtx, l.endJail = context.WithCancel(l.ctx)
}

// spawn runs f in a goroutine that end waits for. It returns false after end.
func (l *lifetime) spawn(f func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.wg.Go(f)
	return true
}

// spawnServing is spawn for a connection: end first lets it drain.
func (l *lifetime) spawnServing(f func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.serving.Add(1)
	l.wg.Go(func() {
		defer l.serving.Done()
		f()
	})
	return true
}

// closeAtEnd makes end close c. After end, it closes c at once and returns false.
func (l *lifetime) closeAtEnd(c io.Closer) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		c.Close()
		return false
	}
	l.closers = append(l.closers, c)
	return true
}

// waitRetry waits a little after an error. It returns false when the jail ends.
func (l *lifetime) waitRetry() bool {
	select {
	case <-l.jailCtx.Done():
		return false
	case <-time.After(acceptRetry):
		return true
	}
}

// end lets the connections deliver the bytes that were sent, ends them, and waits for all goroutines.
func (l *lifetime) end() {
	l.mu.Lock()
	shut := l.closers
	l.closed, l.closers = true, nil
	l.mu.Unlock()
	for _, c := range shut {
		c.Close()
	}
	l.endJail()
	late := time.AfterFunc(l.limits.timeout, l.cancel)
	l.serving.Wait()
	late.Stop()
	l.cancel()
	l.wg.Wait()
}
