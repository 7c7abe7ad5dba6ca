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

// endTime is how long the process may live without its socket.
const endTime = time.Second

// listen hears what the process says, until it ends.
func (p *Program) listen(secrets map[string][]byte) {
	err := p.arm(secrets)
	if err == nil {
		err = p.hearAll()
	}
	p.cancel(err)
	p.socket.Close() // that is its end
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, h := range p.handed {
		h.cancel()
	}
}

// arm gives the secrets to the process, once it has given up its rights.
func (p *Program) arm(secrets map[string][]byte) error {
	m, _, err := p.socket.receive()
	switch {
	case err != nil:
		return p.end()
	case m.Failed != "":
		return errors.New(m.Failed)
	case !m.Ready:
		return errors.New("it did not say that it is ready")
	}
	p.socket.SetReadDeadline(time.Time{})
	if err := p.tell(message{Secrets: secrets}, nil); err != nil {
		return err
	}
	close(p.ready)
	return nil
}

// hearAll hears the process until there is no more, and says how it ended.
func (p *Program) hearAll() error {
	var err error
	for err == nil {
		closed := p.socket.raw.Read(func(fd uintptr) bool {
			var n int
			n, err = p.hear(int(fd))
			return n > 0 || err != nil
		})
		err = cmp.Or(err, closed)
	}
	p.hearing.Lock()
	failed := p.failed
	p.hearing.Unlock()
	return cmp.Or(failed, p.end())
}

// hearAtOnce is how many messages are heard before others get their turn.
const hearAtOnce = 64

// hear takes what the process has said by now, without waiting, and tells how many
// messages that were. Two do it: the listener as soon as there is one, and who wants to
// know what was said.
func (p *Program) hear(fd int) (n int, err error) {
	p.hearing.Lock()
	defer p.hearing.Unlock()
	for n < hearAtOnce {
		if p.ctx.Err() != nil {
			return n, net.ErrClosed
		}
		m, c, err := p.socket.next(fd)
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
			p.endFor("it sent what is no message: " + err.Error())
			return n, err
		}
		n++
		p.take(m)
	}
	return n, nil
}

// What is heard before somebody is answered, even of a process that never stops talking:
// more than the socket holds as systems have it, and what takes no longer than that.
const (
	catchUp     = 512 // messages; there is room for some 280
	catchUpTime = time.Second
)

// CatchUp hears what the process has said by now: see egress.Terminator. It waits for
// nothing that the process would have to do.
func (p *Program) CatchUp() {
	select {
	case <-p.ready:
	default:
		return // nothing was handed over yet, and the first words are not for us
	}
	end := time.Now().Add(catchUpTime)
	for heard := 0; heard < catchUp || time.Now().Before(end); heard += hearAtOnce {
		n := 0
		p.socket.raw.Control(func(fd uintptr) { n, _ = p.hear(int(fd)) })
		if n < hearAtOnce {
			return
		}
	}
}

// end waits for the process, which has let go of its socket, and says how it ended.
func (p *Program) end() error {
	select {
	case <-p.exited:
	case <-time.After(endTime):
		p.process.Kill()
		<-p.exited
	}
	if what := p.wrong.Load(); what != nil {
		return fmt.Errorf("mcp-jail-tls was ended: %s; start the server again", *what)
	}
	return fmt.Errorf("mcp-jail-tls has ended (%v); start the server again", p.state)
}

// take takes a message. What it has to answer it does not wait for: a process that
// hangs does not read.
func (p *Program) take(m message) {
	switch {
	case m.Failed != "":
		p.failed = errors.New(m.Failed)
	case m.Dial != nil:
		h := p.find(m.Dial.ID)
		if h == nil {
			p.answer(func() {
				p.tell(message{Upstream: &upstreamMessage{m.Dial.Dial, "the connection has ended"}}, nil)
			})
			return
		}
		p.answer(func() { p.dial(h, m.Dial.Dial) })
	case m.Denied != nil:
		if h := p.find(m.Denied.ID); h != nil && h.target.Deny != nil {
			h.target.Deny(egress.Denial{Why: m.Denied.Why, Detail: clip(m.Denied.Detail)})
		}
	case m.Sent != nil:
		if h := p.find(m.Sent.ID); h != nil && h.target.Sent != nil && !h.target.Sent(max(0, m.Sent.Bytes)) && !h.spent {
			h.spent = true
			p.answer(func() { p.tell(message{End: m.Sent.ID}, nil) })
		}
	case m.Done != 0:
		if h := p.find(m.Done); h != nil {
			h.cancel()
		}
	}
}

// Answers that may be underway: for each connection that there may be at once, and for
// one with many requests whose upstream fails. One that reads none could have any number.
const answersEach, answersMore = 16, 256

// answer has f answer the process, and ends one that asks for more than its work takes.
func (p *Program) answer(f func()) {
	select {
	case p.answers <- struct{}{}:
		p.work.Go(func() {
			defer func() { <-p.answers }()
			f()
		})
	default:
		p.endFor("it asks for more than its work takes")
	}
}

func (p *Program) find(id uint64) *handed {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.handed[id]
}

func (p *Program) dial(h *handed, number uint64) {
	c, err := h.dial(h.ctx)
	if err != nil {
		p.tell(message{Upstream: &upstreamMessage{number, clip(err.Error())}}, nil)
		return
	}
	p.tell(message{Upstream: &upstreamMessage{Dial: number}}, c)
	c.Close()
}
