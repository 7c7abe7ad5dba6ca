package tlsworker

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"github.com/mcp-jail/mcp-jail/confine/egress"
	"github.com/mcp-jail/mcp-jail/policy"
)

// A Proxy carries the connections to an https:// proxy, by one process of mcp-jail-tls. The process starts with
// the first of them, and again if it has ended.
type Proxy struct {
	Start func(context.Context) (*Worker, error)

	mu     sync.Mutex
	worker *Worker
	work   sync.WaitGroup
}

// running returns the process.
func (p *Proxy) running(ctx context.Context) (w *Worker, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.worker != nil && p.worker.ctx.Err() == nil {
		return p.worker, nil
	}
	if p.worker != nil {
		p.worker.Close()
	}
	p.worker, err = p.Start(ctx)
	return p.worker, err
}

// StartTLS has the process shake hands with a proxy on conn, and returns a connection that carries what is inside
// the TLS. It closes conn.
func (p *Proxy) StartTLS(ctx context.Context, proxy egress.Conn, serverName string) (egress.Conn, error) {
	w, err := p.running(ctx)
	if err != nil {
		proxy.Close()
		return nil, err
	}
	result := make(chan error, 1)
	report := func(err error) {
		select {
		case result <- err:
		default: // only the first counts
		}
	}
	c, err := w.begin(nil, egress.Target{
		Name:      serverName,
		Connected: func() { report(nil) },
		Deny:      func(_ policy.DenialReason, why string) { report(errors.New("TLS with it fails: " + why)) },
	}, func(context.Context) (egress.Conn, error) { return proxy, nil })
	if err != nil {
		proxy.Close()
		return nil, err
	}
	p.work.Go(func() {
		<-c.done
		proxy.Close()
	})
	select {
	case err = <-result:
	case <-ctx.Done():
		err = ctx.Err()
	case <-c.done:
		select {
		case err = <-result: // the reason comes before the end
		default:
			err = cmp.Or(context.Cause(w.ctx), errors.New("mcp-jail-tls did not connect to it"))
		}
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
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
