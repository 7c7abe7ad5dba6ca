package gateway

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/step"
	"golang.org/x/sys/unix"
)

// inbound has ports of the host's loopback lead into a jail: what connects to one is
// joined to a socket that was made in there, and connected to the same port.
//
// Such a socket serves once. The jail's init makes another for each that is taken.
type Inbound struct {
	control *os.File // the init's socket
	sockets chan *os.File
	slots   chan struct{}
	warn    func(string)
	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup
}

func NewInbound(control *os.File, ports []int, spares []*os.File, warn func(string)) *Inbound {
	in := &Inbound{control: control, sockets: make(chan *os.File, 2*spec.InboundSockets), slots: make(chan struct{}, spec.MaxInbound), warn: warn}
	in.ctx, in.cancel = context.WithCancel(context.Background())
	for _, f := range spares {
		in.sockets <- f
	}
	in.running.Go(in.receive)
	for _, port := range ports {
		for _, host := range []string{"127.0.0.1", "::1"} {
			// Who hears that the server is ready may call it at once.
			l, err := in.listen(host, port)
			in.running.Go(func() { in.serveConn(host, port, l, err) })
		}
	}
	return in
}

// close is for when the init has ended.
func (in *Inbound) Close() {
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

// receive takes the sockets that the init makes, until it ends.
func (in *Inbound) receive() {
	for {
		var got Passed
		kind, err := got.receive(in.control)
		for _, f := range got.Inbound {
			select {
			case in.sockets <- f:
			default:
				f.Close()
			}
		}
		if kind == 0 || err != nil && err != unix.EMFILE { // which is one socket less
			return
		}
	}
}

func (in *Inbound) listen(host string, port int) (net.Listener, error) {
	return (&net.ListenConfig{}).Listen(in.ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
}

// serveConn serves one port, with what came of listening. Where somebody else has it, it
// waits until it is free.
func (in *Inbound) serveConn(host string, port int, l net.Listener, err error) {
	for told := false; err != nil; told = true {
		if step.Errno(err) == unix.EADDRNOTAVAIL || step.Errno(err) == unix.EAFNOSUPPORT {
			return // no IPv6
		}
		if !told {
			in.warn(fmt.Sprintf("inbound port %d leads nowhere yet: %v; it is tried again until it is free", port, err))
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

func (in *Inbound) accept(l *net.TCPListener, port int) {
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
		if err != nil { // for want of descriptors, say
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

func (in *Inbound) serve(c *net.TCPConn, port int) {
	defer c.Close()
	for _, to := range Loopbacks(port) {
		server, err := in.Connect(to)
		if err != nil {
			continue
		}
		defer server.Close()
		in.join(c, server)
		return
	}
	reset(c) // as a port without a listener
}

// loopbacks are where a server in the jail can listen, for a socket of both families.
func Loopbacks(port int) []unix.Sockaddr {
	return []unix.Sockaddr{
		&unix.SockaddrInet6{Port: port, Addr: [16]byte{10: 0xff, 11: 0xff, 12: 127, 15: 1}},
		&unix.SockaddrInet6{Port: port, Addr: [16]byte{15: 1}},
	}
}

// connect makes a connection in the jail.
func (in *Inbound) Connect(to unix.Sockaddr) (*net.TCPConn, error) {
	var f *os.File
	for f == nil {
		select {
		case f = <-in.sockets:
			defer f.Close()
		case <-time.After(spec.InboundTimeout): // what the init could not hand over does not come by itself
		case <-in.ctx.Done():
			return nil, in.ctx.Err()
		}
		in.control.Write([]byte{spec.RequestSocket})
	}
	fd := int(f.Fd())
	// The loopback answers at once, unless the server has no room for more.
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

// join passes on what either side sends, and that it has ended. When the jail has, there
// is nobody left to read; what the server has answered before is passed on, as the kernel
// does for a program that ends.
func (in *Inbound) join(c, server *net.TCPConn) {
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
		case in.ctx.Err() != nil: // nobody is left to read
		case c.CloseRead() != nil: // ENOTCONN: it was the client that failed
			reset(c)
			reset(server)
		}
		// else it was the server, whose last words are being read
	}()
	if _, err := c.ReadFrom(server); err != nil {
		reset(c)
		reset(server)
	} else {
		c.CloseWrite()
	}
	<-done
}

// reset ends a connection with an RST.
func reset(c *net.TCPConn) {
	c.SetLinger(0)
	c.Close()
}
