package gateway

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
)

// inbound listens on ports of the host's loopback. It joins each connection to a connection
// to the same port in the jail.
//
// The connection in the jail uses a socket that was made in the jail. Each socket serves one
// connection. The supervisor makes a new socket for each used one.
type inbound struct {
	control *os.File      // a socket to the supervisor
	sockets chan *os.File // unused sockets of the jail
	slots   chan struct{} // one element for each connection, at most spec.MaxInbound
	warn    func(string)
	warned  sync.Map // the ports that warn has had: each has an address of IPv4 and one of IPv6
	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup
}

// newInbound starts to listen on the ports. unused are sockets of the jail. warn gets a
// message for each port that another program uses.
func newInbound(control *os.File, ports []int, unused []*os.File, warn func(string)) *inbound {
	in := &inbound{control: control, sockets: make(chan *os.File, 2*spec.InboundSockets), slots: make(chan struct{}, spec.MaxInbound), warn: warn}
	in.ctx, in.cancel = context.WithCancel(context.Background())
	for _, f := range unused {
		in.sockets <- f
	}
	in.running.Go(in.receive)
	for _, port := range ports {
		for _, host := range []string{"127.0.0.1", "::1"} {
			// Listen now: a program may connect as soon as the server says that it is ready.
			l, err := in.listen(host, port)
			in.running.Go(func() { in.servePort(host, port, l, err) })
		}
	}
	return in
}

// close ends all connections. The supervisor must have ended.
func (in *inbound) close() {
	in.cancel()
	in.running.Wait()
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

func (in *inbound) listen(host string, port int) (net.Listener, error) {
	return (&net.ListenConfig{}).Listen(in.ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
}

// servePort serves one port with the result of listen. If another program uses the port,
// servePort waits until the port is free.
func (in *inbound) servePort(host string, port int, l net.Listener, err error) {
	for err != nil {
		if sys.Errno(err) == unix.EADDRNOTAVAIL || sys.Errno(err) == unix.EAFNOSUPPORT {
			return // no IPv6
		}
		if _, warned := in.warned.LoadOrStore(port, true); !warned {
			in.warn(fmt.Sprintf("inbound port %d leads nowhere yet: %v; %sit is tried again until it is free", port, err, holder(err)))
		}
		select {
		case <-time.After(spec.InboundTimeout):
		case <-in.ctx.Done():
			return
		}
		l, err = in.listen(host, port)
	}
	stop := context.AfterFunc(in.ctx, func() { l.Close() })
	defer stop()
	in.accept(l.(*net.TCPListener), port)
}

// holder says what has a port that cannot be taken, or "".
func holder(err error) string {
	if sys.Errno(err) != unix.EADDRINUSE {
		return ""
	}
	return "another program has it, or another session of this server; "
}

// accept serves all connections of a listener, at most spec.MaxInbound at a time.
func (in *inbound) accept(l *net.TCPListener, port int) {
	defer l.Close()
	for {
		select {
		case in.slots <- struct{}{}:
		case <-in.ctx.Done():
			return
		}
		c, err := l.AcceptTCP()
		if in.ctx.Err() != nil {
			return
		}
		if err != nil { // for instance EMFILE
			<-in.slots
			time.Sleep(100 * time.Millisecond)
			continue
		}
		in.running.Go(func() {
			defer func() { <-in.slots }()
			in.serve(c, port)
		})
	}
}

func (in *inbound) serve(c *net.TCPConn, port int) {
	defer c.Close()
	for _, to := range loopbacks(port) {
		server, err := in.connect(to)
		if err != nil {
			continue
		}
		defer server.Close()
		in.join(c, server)
		return
	}
	reset(c) // as a port without a listener does
}

func loopbacks(port int) []unix.Sockaddr {
	return []unix.Sockaddr{
		&unix.SockaddrInet6{Port: port, Addr: [16]byte{10: 0xff, 11: 0xff, 12: 127, 15: 1}},
		&unix.SockaddrInet6{Port: port, Addr: [16]byte{15: 1}},
	}
}

func (in *inbound) connect(to unix.Sockaddr) (*net.TCPConn, error) {
	var f *os.File
	for f == nil {
		select {
		case f = <-in.sockets:
			defer f.Close()
		case <-time.After(spec.InboundTimeout): // a socket that could not be passed does not come later: ask again
		case <-in.ctx.Done():
			return nil, in.ctx.Err()
		}
		in.control.Write([]byte{spec.RequestSocket})
	}
	fd := int(f.Fd())
	// The loopback answers at once, unless the server's backlog is full.
	err := unix.SetNonblock(fd, false)
	if err == nil {
		err = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &unix.Timeval{Sec: 1})
	}
	if err != nil {
		return nil, err
	}
	if family, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN); err != nil || family == unix.AF_INET {
		six := to.(*unix.SockaddrInet6)
		to = &unix.SockaddrInet4{Port: six.Port, Addr: [4]byte(six.Addr[12:])}
	}
	if err := unix.Connect(fd, to); err != nil {
		return nil, err
	}
	c, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	return c.(*net.TCPConn), nil
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
