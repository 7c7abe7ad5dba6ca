package tlsworker

import (
	"cmp"
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/egress"
	"github.com/mcp-jail/mcp-jail/policy"
)

// A Proxy carries the connections to an https:// proxy, by one process of mcp-jail-tls. The process starts with
// the first of them, and again if it has ended.
type Proxy struct {
	Start       func(context.Context) (*Worker, error)
	Connections int // at once; 0 means policy.MaxConnections

	mu     sync.Mutex
	worker *Worker
	open   int
	work   sync.WaitGroup
}

// reserve returns the process for one more connection.
func (p *Proxy) reserve(ctx context.Context) (w *Worker, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open >= cmp.Or(p.Connections, policy.MaxConnections) {
		return nil, errors.New("too many connections to it are open")
	}
	if p.worker == nil || p.worker.ctx.Err() != nil {
		if p.worker != nil {
			p.worker.Close()
		}
		if p.worker, err = p.Start(ctx); err != nil {
			return nil, err
		}
	}
	p.open++
	return p.worker, nil
}

// StartTLS has the process shake hands with a proxy on conn, and returns a connection that carries what is inside
// the TLS. It closes conn.
func (p *Proxy) StartTLS(ctx context.Context, conn *net.TCPConn, serverName string) (*net.TCPConn, error) {
	w, err := p.reserve(ctx)
	if err != nil {
		conn.Close()
		return nil, err
	}
	result, end := make(chan error, 3), make(chan struct{})
	ours, theirs, err := tcpPair()
	p.work.Go(func() {
		defer conn.Close()
		if err == nil {
			w.Serve(theirs, nil, egress.Target{
				Name: serverName, Done: end,
				Connected: func() { result <- nil },
				Deny:      func(_ policy.DenialReason, why string) { result <- errors.New("TLS with it fails: " + why) },
			}, func(context.Context) (*net.TCPConn, error) { return conn, nil })
		}
		result <- cmp.Or(err, context.Cause(w.ctx), errors.New("mcp-jail-tls did not connect to it"))
		p.mu.Lock()
		p.open--
		p.mu.Unlock()
	})
	if err != nil {
		return nil, err
	}
	select {
	case err = <-result:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		close(end)
		ours.Close()
		return nil, err
	}
	return ours, nil
}

// Close ends the process and its connections.
func (p *Proxy) Close() error {
	p.mu.Lock()
	w := p.worker
	p.mu.Unlock()
	if w != nil {
		w.Close()
	}
	p.work.Wait()
	return nil
}

// tcpPair returns the two ends of a TCP connection of this process with itself.
func tcpPair() (a, b *net.TCPConn, err error) {
	l, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, nil, err
	}
	defer l.Close()
	if a, err = net.DialTCP("tcp4", nil, l.Addr().(*net.TCPAddr)); err != nil {
		return nil, nil, err
	}
	l.SetDeadline(time.Now().Add(startTimeout))
	for {
		if b, err = l.AcceptTCP(); err != nil {
			a.Close()
			return nil, nil, err
		}
		if b.RemoteAddr().String() == a.LocalAddr().String() {
			return a, b, nil
		}
		b.Close() // another process of this host was here first
	}
}
