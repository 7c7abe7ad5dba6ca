package tlsworker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/egress"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/leak"
)

const (
	startTimeout = 20 * time.Second // for the start of the process, which normally takes some milliseconds
	exitTimeout  = time.Second      // for its end, when its input has ended
	sendTimeout  = 10 * time.Second // in which the process must read a frame
)

// dialsPerConn bounds the upstream connections. A connection may briefly have several, while one
// replaces another.
const dialsPerConn = 4

// Worker is a running mcp-jail-tls, as the launcher sees it. It implements egress.Interceptor.
type Worker struct {
	mux     *mux
	process Process
	ca      []byte
	ready   chan struct{} // closed when the process serves
	ended   func(error)
	ctx     context.Context // ends with the process
	cancel  context.CancelCauseFunc
	work    sync.WaitGroup
	slots   chan struct{} // one element for each upstream connection

	mu     sync.Mutex
	conns  map[uint32]*served
	last   uint32
	killed error // why the launcher killed the process
	closed bool
}

var _ egress.Interceptor = (*Worker)(nil)

// served is a connection that the process serves.
type served struct {
	target egress.Target
	dial   func(context.Context) (egress.Conn, error)
	ctx    context.Context // ends with the connection
}

// Start starts the program and returns when it serves. If Start fails, no process is left.
func Start(ctx context.Context, o Options) (*Worker, error) {
	for name, value := range o.Secrets {
		if err := policy.CheckSecretValue(name, value); err != nil {
			return nil, err
		}
	}
	w := &Worker{
		ready: make(chan struct{}), ended: o.Ended, conns: map[uint32]*served{},
		slots: make(chan struct{}, dialsPerConn*policy.MaxConnections),
	}
	w.ctx, w.cancel = context.WithCancelCause(context.Background())
	if err := w.spawn(ctx, o); err != nil {
		return nil, err
	}
	w.mux.sendMessage(message{Setup: newSetupMessage(o.Setup)}) // if it fails, the process has ended
	var err error
	select {
	case <-w.ready:
		return w, nil
	case <-w.ctx.Done():
		err = context.Cause(w.ctx)
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-time.After(startTimeout):
		err = fmt.Errorf("it did not answer in %v", startTimeout)
	}
	w.Close()
	return nil, err
}

func (w *Worker) spawn(ctx context.Context, o Options) error {
	theirIn, in, err := os.Pipe()
	if err != nil {
		return err
	}
	defer theirIn.Close()
	out, theirOut, err := os.Pipe()
	if err != nil {
		in.Close()
		return err
	}
	defer theirOut.Close()
	if w.process, err = o.Run(ctx, theirIn, theirOut); err != nil {
		in.Close()
		out.Close()
		return err
	}
	w.mux = newMux(maxMessage, func(b []byte) error {
		in.SetWriteDeadline(time.Now().Add(sendTimeout))
		_, err := in.Write(b)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			w.kill(fmt.Errorf("it read nothing for %v", sendTimeout))
		}
		return err
	})
	w.work.Go(func() { w.serve(in, out) })
	return nil
}

// serve handles what the process sends until it ends.
func (w *Worker) serve(in, out *os.File) {
	err := w.mux.receive(out, w.handle)
	failed := errors.Is(err, errSetup)
	if !failed && err != io.EOF {
		w.kill(fmt.Errorf("it broke the protocol: %w", err))
	}
	in.Close() // this makes the process end
	out.Close()
	timeout := time.AfterFunc(exitTimeout, func() { w.process.Kill() })
	how := w.process.Wait()
	timeout.Stop()
	w.mu.Lock()
	why, unexpected := w.killed, !w.closed && w.ca != nil
	w.mu.Unlock()
	switch {
	case failed:
	case why != nil:
		err = fmt.Errorf("mcp-jail-tls was killed because %w; start the server again", why)
	default:
		err = fmt.Errorf("mcp-jail-tls has ended (%s); start the server again", how)
	}
	w.cancel(err)
	if unexpected {
		w.tellOfEnd(err)
	}
	w.mux.end()
}

// tellOfEnd records the unexpected end of the process for each connection, before these end.
func (w *Worker) tellOfEnd(why error) {
	w.mu.Lock()
	conns := slices.Collect(maps.Values(w.conns))
	w.mu.Unlock()
	for _, c := range conns {
		c.deny(why)
	}
	if w.ended != nil {
		w.ended(why)
	}
}

func (c *served) deny(why error) {
	if c.target.Deny != nil {
		c.target.Deny(policy.DeniedUnsupported, why.Error())
	}
}

// CA returns the certificate, in PEM, of the authority that signs what the jail is shown.
func (w *Worker) CA() []byte { return w.ca }

// Kill begins to end the process and its connections.
func (w *Worker) Kill() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.cancel(errors.New("the session is over"))
	w.process.Kill()
}

func (w *Worker) kill(why error) {
	w.mu.Lock()
	w.killed = cmp.Or(w.killed, why)
	w.mu.Unlock()
	w.process.Kill()
}

// Close ends the process and its connections, and waits for it.
func (w *Worker) Close() {
	w.Kill()
	w.work.Wait()
}

// Serve passes a connection to the process. It implements egress.Interceptor.
func (w *Worker) Serve(conn egress.Conn, head []byte, t egress.Target, dial func(context.Context) (egress.Conn, error)) {
	c, err := w.begin(head, t, dial)
	if err != nil {
		conn.SetLinger(0)
		conn.Close()
		(&served{target: t}).deny(err)
		return
	}
	go func() {
		select {
		case <-t.Done: // the Gateway does not wait
			conn.SetLinger(0)
			conn.Close()
		case <-c.done:
		}
	}()
	relay(conn, c)
}

// begin has the process serve a connection, until one side closes it.
func (w *Worker) begin(head []byte, t egress.Target, dial func(context.Context) (egress.Conn, error)) (*conn, error) {
	ctx, cancel := context.WithCancel(w.ctx)
	w.mu.Lock()
	w.last++
	id := 2*w.last - 1
	w.conns[id] = &served{t, dial, ctx}
	w.mu.Unlock()
	end := func() {
		cancel()
		w.mu.Lock()
		delete(w.conns, id)
		w.mu.Unlock()
	}
	c, err := w.mux.open(id)
	if err != nil {
		end()
		return nil, cmp.Or(context.Cause(w.ctx), err)
	}
	go func() {
		<-c.done
		end()
	}()
	w.mux.sendMessage(message{Serve: &serveMessage{id, head, t.Name, t.Port, t.TLS, t.Addr}})
	return c, nil
}

// relay carries the bytes of a connection to and from the process, and the way in which each side ends. It closes
// both.
func relay(tcp egress.Conn, c *conn) {
	up := make(chan struct{})
	go func() {
		defer close(up)
		if _, err := io.Copy(c, tcp); err != nil {
			c.SetLinger(0)
			c.Close()
			return
		}
		c.CloseWrite()
	}()
	if _, err := io.Copy(tcp, c); err != nil {
		tcp.SetLinger(0)
		c.SetLinger(0)
	} else {
		tcp.CloseWrite()
		select {
		case <-up:
		case <-c.done:
		}
	}
	tcp.Close()
	c.Close()
	<-up
}

// handle handles a message of the process. It may be in the hands of the jail or of an upstream, so each value
// is checked.
func (w *Worker) handle(m message) error {
	switch {
	case m.Failed != "":
		return fmt.Errorf("%w: %s", errSetup, clip(m.Failed))
	case m.Hello != nil:
		return w.begun(*m.Hello)
	case m.Dial != nil:
		select {
		case w.slots <- struct{}{}:
		default:
			return errors.New("it has more connections than the jail needs")
		}
		w.work.Go(func() {
			defer func() { <-w.slots }()
			w.dial(m.Dial.ID, w.conn(m.Dial.For))
		})
	case m.Denied != nil:
		if c := w.conn(m.Denied.For); c != nil && c.target.Deny != nil {
			why := m.Denied.Why
			if !why.IsValid() {
				why = policy.DeniedRequest
			}
			c.target.Deny(why, clip(m.Denied.Detail))
		}
		w.mux.sendMessage(message{Answer: &answerMessage{ID: m.Denied.ID}})
	case m.Leak != nil:
		if c := w.conn(m.Leak.For); c != nil && c.target.Tell != nil && m.Leak.Place.IsValid() && m.Leak.Form.IsValid() {
			c.target.Tell(egress.Leak{Host: c.target.Name, Place: m.Leak.Place, Found: leak.Found{Name: clip(m.Leak.Name), Form: m.Leak.Form}})
		}
		w.mux.sendMessage(message{Answer: &answerMessage{ID: m.Leak.ID}})
	case m.Connected != 0:
		if c := w.conn(m.Connected); c != nil && c.target.Connected != nil {
			c.target.Connected()
		}
	default:
		return errors.New("an unknown message")
	}
	return nil
}

func (w *Worker) begun(m helloMessage) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.ca != nil:
		return errors.New("it said hello twice")
	case m.Version != version || len(m.CA) == 0:
		return fmt.Errorf("%w: it has another version: install mcp-jail and mcp-jail-tls from one build", errSetup)
	}
	w.ca = m.CA
	close(w.ready)
	return nil
}

func (w *Worker) conn(id uint32) *served {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.conns[id]
}

// dial connects to the upstream of a connection, nil if it has ended, and serves that as the connection id.
func (w *Worker) dial(id uint32, s *served) {
	if s == nil {
		w.mux.sendMessage(message{Answer: &answerMessage{id, "the connection has ended"}})
		return
	}
	upstream, err := s.dial(s.ctx)
	if err != nil {
		w.mux.sendMessage(message{Answer: &answerMessage{id, cmp.Or(clip(err.Error()), "it failed")}})
		return
	}
	defer context.AfterFunc(s.ctx, func() { upstream.Close() })()
	c, err := w.mux.open(id)
	if err != nil || id%2 != 0 {
		upstream.Close()
		w.kill(fmt.Errorf("it asked for a connection with the number %d", id))
		return
	}
	w.mux.sendMessage(message{Answer: &answerMessage{ID: id}})
	relay(upstream, c)
}

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
