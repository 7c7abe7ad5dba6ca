package tlsworker

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/egress"
)

// exitTimeout is how long the process may live without its socket.
const exitTimeout = time.Second

// receiveLoop hears what the process says, until it ends.
func (p *Worker) receiveLoop(secrets map[string][]byte) {
	err := p.sendSecrets(secrets)
	if err == nil {
		err = p.receiveAll()
	}
	p.cancel(err)
	p.socket.Close() // that is its end
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, h := range p.conns {
		h.cancel()
	}
}

// sendSecrets gives the secrets to the process, once it has given up its rights.
func (p *Worker) sendSecrets(secrets map[string][]byte) error {
	m, _, err := p.socket.receive()
	switch {
	case err != nil:
		return p.awaitExit()
	case m.Failed != "":
		return errors.New(m.Failed)
	case !m.Ready:
		return errors.New("it did not say that it is ready")
	}
	p.socket.SetReadDeadline(time.Time{})
	if err := p.send(message{Secrets: secrets}, nil); err != nil {
		return err
	}
	close(p.ready)
	return nil
}

// receiveAll hears the process until there is no more, and says how it ended.
func (p *Worker) receiveAll() error {
	var err error
	for err == nil {
		closed := p.socket.raw.Read(func(fd uintptr) bool {
			var n int
			n, err = p.receive(int(fd))
			return n > 0 || err != nil
		})
		err = cmp.Or(err, closed)
	}
	p.receiving.Lock()
	failed := p.failure
	p.receiving.Unlock()
	return cmp.Or(failed, p.awaitExit())
}

// maxReceive is how many messages are heard before others get their turn.
const maxReceive = 64

// receive takes what the process has said by now, without waiting, and tells how many
// messages that were. Two do it: the listener as soon as there is one, and who wants to
// know what was said.
func (p *Worker) receive(fd int) (n int, err error) {
	p.receiving.Lock()
	defer p.receiving.Unlock()
	for n < maxReceive {
		if p.ctx.Err() != nil {
			return n, net.ErrClosed
		}
		m, c, err := p.socket.tryReceive(fd)
		if c != nil { // it has none to give, and could have said that closing takes an hour
			c.SetLinger(0)
			c.Close()
		}
		switch {
		case err == unix.EAGAIN:
			return n, nil
		case err == io.EOF:
			return n, err
		case err != nil: // it breaks the protocol, and its end is what the listener waits for
			p.killFor("it sent what is no message: " + err.Error())
			return n, err
		}
		n++
		p.handle(m)
	}
	return n, nil
}

// What is heard before somebody is answered, even of a process that never stops talking:
// more than the socket holds as systems have it, and what takes no longer than that.
const (
	maxFlush     = 512 // messages; there is room for some 280
	flushTimeout = time.Second
)

// FlushDenials hears what the process has said by now: see egress.Terminator. It waits for
// nothing that the process would have to do.
func (p *Worker) FlushDenials() {
	select {
	case <-p.ready:
	default:
		return // nothing was handed over yet, and the first words are not for us
	}
	end := time.Now().Add(flushTimeout)
	for heard := 0; heard < maxFlush || time.Now().Before(end); heard += maxReceive {
		n := 0
		p.socket.raw.Control(func(fd uintptr) { n, _ = p.receive(int(fd)) })
		if n < maxReceive {
			return
		}
	}
}

// awaitExit waits for the process, which has let go of its socket, and says how it ended.
func (p *Worker) awaitExit() error {
	select {
	case <-p.exited:
	case <-time.After(exitTimeout):
		p.process.Kill()
		<-p.exited
	}
	if what := p.killReason.Load(); what != nil {
		return fmt.Errorf("mcp-jail-tls was ended: %s; start the server again", *what)
	}
	return fmt.Errorf("mcp-jail-tls has ended (%v); start the server again", p.state)
}

// handle takes a message. What it has to answer it does not wait for: a process that
// hangs does not read.
func (p *Worker) handle(m message) {
	switch {
	case m.Failed != "":
		p.failure = errors.New(m.Failed)
	case m.Dial != nil:
		h := p.conn(m.Dial.ID)
		if h == nil {
			p.reply(func() {
				p.send(message{Upstream: &upstreamMessage{m.Dial.Dial, "the connection has ended"}}, nil)
			})
			return
		}
		p.reply(func() { p.dial(h, m.Dial.Dial) })
	case m.Denied != nil:
		if h := p.conn(m.Denied.ID); h != nil && h.target.Deny != nil {
			h.target.Deny(egress.Denial{Why: m.Denied.Why, Detail: clip(m.Denied.Detail)})
		}
	case m.Sent != nil:
		if h := p.conn(m.Sent.ID); h != nil && h.target.ReportSent != nil && !h.target.ReportSent(max(0, m.Sent.Bytes)) && !h.spent {
			h.spent = true
			p.reply(func() { p.send(message{End: m.Sent.ID}, nil) })
		}
	case m.Done != 0:
		if h := p.conn(m.Done); h != nil {
			h.cancel()
		}
	}
}

// Answers that may be underway: for each connection that there may be at once, and for
// one with many requests whose upstream fails. One that reads none could have any number.
const repliesPerConn, extraReplies = 16, 256

// reply has f answer the process, and ends one that asks for more than its work takes.
func (p *Worker) reply(f func()) {
	select {
	case p.replies <- struct{}{}:
		p.work.Go(func() {
			defer func() { <-p.replies }()
			f()
		})
	default:
		p.killFor("it asks for more than its work takes")
	}
}

func (p *Worker) conn(id uint64) *workerConn {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.conns[id]
}

func (p *Worker) dial(h *workerConn, number uint64) {
	c, err := h.dial(h.ctx)
	if err != nil {
		p.send(message{Upstream: &upstreamMessage{number, clip(err.Error())}}, nil)
		return
	}
	p.send(message{Upstream: &upstreamMessage{Dial: number}}, c)
	c.Close()
}
