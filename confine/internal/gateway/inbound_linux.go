package gateway

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
)

// inbound leads connections from ports of the host's loopback to the same ports in one jail.
//
// The host's port is taken when a program of the jail binds it, which waits meanwhile. If another program of the
// host has the port, inbound binds it in the jail instead, so that the kernel tells the program that it is in use.
// If that other program is a session of the same server, connections in the jail to the port are joined to the
// host's. The kernel refuses all others.
//
// A connection into the jail uses a socket that was made in the jail, as does a port that is in use. Each socket
// serves once. The supervisor makes a new socket for each used one.
type inbound struct {
	control *os.File      // a socket to the supervisor
	sockets chan *os.File // unused sockets of the jail
	ports   *Ports
	granted []int
	binds   chan netip.AddrPort // to the goroutine of answer
	warn    func(string)
	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu    sync.Mutex
	inUse map[netip.AddrPort]*portInUse
}

// portInUse is a port that is bound in the jail because another program of the host has it.
type portInUse struct {
	socket *os.File
	leads  net.Listener // on the socket, to the other session of this server; nil: the kernel refuses connections
	cancel context.CancelFunc
}

// newInbound starts to answer the binds of a jail. unused are sockets of the jail. warn gets a message for each
// port that could not be taken.
func newInbound(control *os.File, granted []int, ports *Ports, unused []*os.File, warn func(string)) *inbound {
	in := &inbound{
		control: control, sockets: make(chan *os.File, 2*spec.InboundSockets), ports: ports, granted: granted,
		binds: make(chan netip.AddrPort, spec.MaxInbound), warn: warn, inUse: make(map[netip.AddrPort]*portInUse),
	}
	in.ctx, in.cancel = context.WithCancel(context.Background())
	for _, f := range unused {
		in.sockets <- f
	}
	in.running.Go(in.receive)
	in.running.Go(in.answer)
	return in
}

// close ends all connections. The supervisor must have ended.
func (in *inbound) close() {
	in.cancel()
	in.ports.release(in)
	in.running.Wait()
	for _, use := range in.inUse {
		use.socket.Close()
	}
	for {
		select {
		case f := <-in.sockets:
			f.Close()
		default:
			return
		}
	}
}

func (in *inbound) receive() {
	for {
		var got passed
		kind, err := got.receive(in.control)
		for _, f := range got.inbound {
			select {
			case in.sockets <- f:
			default:
				f.Close()
			}
		}
		if kind == 0 || err != nil && err != unix.EMFILE { // EMFILE loses one socket only
			return
		}
	}
}

// bound queues a bind. It is answered when the port is taken, or occupied in the jail.
func (in *inbound) bound(to netip.AddrPort) {
	select {
	case in.binds <- to:
	case <-in.ctx.Done():
	}
}

func (in *inbound) answer() {
	for {
		select {
		case to := <-in.binds:
			in.bind(to)
			in.control.Write([]byte{spec.RequestBound})
		case <-in.ctx.Done():
			return
		}
	}
}

// begin has the ports that another session of this server has lead there from the start, since a program may connect
// before it binds. With all it takes the others, too, for a jail whose binds cannot be seen. What needs a socket
// that the supervisor, which does not run yet, must make is done later.
func (in *inbound) begin(all bool) {
	now := func(at netip.AddrPort) {
		if all {
			in.bind(at)
			return
		}
		in.mu.Lock()
		defer in.mu.Unlock()
		in.occupy(at)
	}
	var later []netip.AddrPort
	for _, port := range in.granted {
		for _, at := range loopback(port) {
			if !all && !in.ports.isElsewhere(at) {
				continue
			}
			if len(in.sockets) > 0 {
				now(at)
			} else {
				later = append(later, at)
			}
		}
	}
	in.running.Go(func() {
		for _, at := range later {
			now(at)
		}
	})
}

// bind takes the port that a program of the jail is about to bind. It decides nothing: the kernel does, when
// the program's call goes on.
func (in *inbound) bind(to netip.AddrPort) {
	needed, other := hostAddresses(to)
	if needed == nil || !slices.Contains(in.granted, int(to.Port())) {
		return
	}
	err := in.ports.take(in, needed...)
	in.mu.Lock()
	defer in.mu.Unlock()
	switch {
	case err == nil:
		in.free(needed)
		in.ports.take(in, other...) // a client of localhost may try that one first. It needs not have it
	case sys.Errno(err) == unix.EADDRINUSE:
		for _, at := range needed {
			in.occupy(at)
		}
	default:
		in.warn(fmt.Sprintf("no connection reaches the server at port %d: this machine's port cannot be taken: %v", to.Port(), err))
	}
}

// hostAddresses returns the addresses of the host without which a server that binds an address in its jail
// is not reached, and the other address of the loopback. An address that no connection from outside
// reaches has none.
func hostAddresses(to netip.AddrPort) (needed, other []netip.AddrPort) {
	both := loopback(int(to.Port()))
	switch to.Addr() {
	case localIPv4, netip.IPv4Unspecified():
		return both[:1], both[1:]
	case netip.IPv6Loopback():
		return both[1:], both[:1]
	case netip.IPv6Unspecified():
		return both, nil
	}
	return nil, nil
}

// free removes what occupy has bound in the jail.
func (in *inbound) free(addresses []netip.AddrPort) {
	for _, at := range addresses {
		if use := in.inUse[at]; use != nil {
			if use.leads != nil {
				use.cancel()
				use.leads.Close() // at once: the program's bind goes on now
			}
			use.socket.Close()
			delete(in.inUse, at)
		}
	}
}

// occupy binds an address in the jail that the host has in use. If another session of this server has it, the
// socket listens, and leads there.
func (in *inbound) occupy(at netip.AddrPort) {
	use := in.inUse[at]
	if use == nil {
		f, err := in.socket()
		if err != nil {
			return
		}
		if err := unix.Bind(int(f.Fd()), inFamily(f, at)); err != nil {
			f.Close() // the program has it already
			return
		}
		use = &portInUse{socket: f}
		in.inUse[at] = use
	}
	if use.leads != nil || !in.ports.isLocked(at) || unix.Listen(int(use.socket.Fd()), 16) != nil {
		return
	}
	// Its connections may outlive it, and are not to be in the way of a program that binds the port then. Before listen,
	// the option would let that program bind the port.
	unix.SetsockoptInt(int(use.socket.Fd()), unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
	l, err := net.FileListener(use.socket)
	if err != nil {
		return
	}
	var ctx context.Context
	ctx, use.cancel = context.WithCancel(in.ctx)
	use.leads = l
	in.running.Go(func() {
		in.ports.accept(ctx, l.(*net.TCPListener), &in.running, func(c *net.TCPConn) { in.lead(c, at) })
	})
}

// lead joins a connection in the jail to the other session of this server. That had the port before the connection
// to it was made, and has it still.
func (in *inbound) lead(c *net.TCPConn, at netip.AddrPort) {
	if in.ports.isLocked(at) {
		s, err := (&net.Dialer{}).DialContext(in.ctx, "tcp", at.String())
		if err == nil {
			defer s.Close()
			if in.ports.isLocked(at) {
				in.join(c, s.(*net.TCPConn))
				return
			}
		}
	}
	reset(c)
}

// isInUse reports whether a listener at a port of the jail may be that of occupy.
func (in *inbound) isInUse(port int) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return slices.ContainsFunc(loopback(port), func(at netip.AddrPort) bool { return in.inUse[at] != nil && in.inUse[at].leads != nil })
}

// serve joins a connection to a port in the jail. It returns false if no program listens there.
func (in *inbound) serve(c *net.TCPConn, port int) bool {
	for _, to := range loopback(port) {
		server, err := in.connect(to)
		if err != nil {
			continue
		}
		defer server.Close()
		in.join(c, server)
		return true
	}
	return false
}

// socket returns an unused socket of the jail, and asks for another one.
func (in *inbound) socket() (f *os.File, err error) {
	for f == nil {
		select {
		case f = <-in.sockets:
		case <-time.After(spec.InboundTimeout): // a socket that could not be passed does not come later: ask again
		case <-in.ctx.Done():
			return nil, in.ctx.Err()
		}
		in.control.Write([]byte{spec.RequestSocket})
	}
	return f, nil
}

func (in *inbound) connect(to netip.AddrPort) (*net.TCPConn, error) {
	f, err := in.socket()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	fd := int(f.Fd())
	// The loopback answers at once, unless the server's backlog is full.
	err = unix.SetNonblock(fd, false)
	if err == nil {
		err = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &unix.Timeval{Sec: 1})
	}
	if err != nil {
		return nil, err
	}
	if err := unix.Connect(fd, inFamily(f, to)); err != nil {
		return nil, err
	}
	c, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	return c.(*net.TCPConn), nil
}

// inFamily returns an address for a socket of the jail. Where there is IPv6, such a socket has that family.
func inFamily(f *os.File, to netip.AddrPort) unix.Sockaddr {
	if family, err := unix.GetsockoptInt(int(f.Fd()), unix.SOL_SOCKET, unix.SO_DOMAIN); err == nil && family == unix.AF_INET6 {
		return &unix.SockaddrInet6{Port: int(to.Port()), Addr: to.Addr().As16()}
	}
	a := to.Addr().As16()
	return &unix.SockaddrInet4{Port: int(to.Port()), Addr: [4]byte(a[12:])}
}

// join relays both directions, ends and resets included. When the jail has ended, join still
// delivers the bytes that the server sent before, as the kernel does for a program that ends.
func (in *inbound) join(c, server *net.TCPConn) {
	stop := context.AfterFunc(in.ctx, func() {
		end := time.Now().Add(spec.InboundEnd)
		c.SetReadDeadline(time.Now())
		c.SetWriteDeadline(end)
		server.SetReadDeadline(end)
	})
	defer stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, err := server.ReadFrom(c)
		switch {
		case err == nil:
			server.CloseWrite()
		case in.ctx.Err() != nil: // the jail has ended and reads no more
		case c.CloseRead() != nil: // ENOTCONN: the client's side failed
			reset(c)
			reset(server)
		}
		// Otherwise the server's side failed. The other direction still reads its last bytes.
	}()
	if _, err := c.ReadFrom(server); err != nil {
		reset(c)
		reset(server)
	} else {
		c.CloseWrite()
	}
	<-done
}

func reset(c *net.TCPConn) {
	c.SetLinger(0)
	c.Close()
}
