//go:build linux || darwin

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
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/leak"
)

// exitTimeout bounds the life of the process after its socket is closed.
const exitTimeout = time.Second

func (w *Worker) receiveLoop(secrets message) {
	err := w.sendSecrets(secrets)
	if err == nil {
		err = w.receiveAll()
	}
	w.cancel(err)
	w.socket.Close() // this makes the process end
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.conns {
		c.cancel()
	}
}

func (w *Worker) sendSecrets(secrets message) error {
	m, err := w.receiveOne()
	switch {
	case err != nil:
		return w.awaitExit()
	case m.Failed != "":
		return errors.New(m.Failed)
	case !m.Ready:
		return errors.New("it did not report that it is ready")
	}
	w.socket.SetReadDeadline(time.Time{})
	if err := w.send(secrets, nil); err != nil {
		return err
	}
	close(w.ready)
	return nil
}

func (w *Worker) receiveAll() error {
	var err error
	for err == nil {
		closed := w.socket.raw.Read(func(fd uintptr) bool {
			var n int
			n, err = w.receive(int(fd))
			return n > 0 || err != nil
		})
		err = cmp.Or(err, closed)
	}
	w.receiving.Lock()
	failed := w.failure
	w.receiving.Unlock()
	return cmp.Or(failed, w.awaitExit())
}

// maxReceive is the number of messages that are received before others may lock receiving.
const maxReceive = 64

// receive handles the messages that have arrived, without waiting, and returns their number.
// receiveLoop calls it as messages arrive; FlushDenials calls it to be up to date.
func (w *Worker) receive(fd int) (n int, err error) {
	w.receiving.Lock()
	defer w.receiving.Unlock()
	for n < maxReceive {
		if w.ctx.Err() != nil {
			return n, net.ErrClosed
		}
		m, c, err := w.socket.tryReceive(fd)
		if c != nil { // the process has no reason to send one; closing it must not linger
			c.SetLinger(0)
			c.Close()
		}
		switch {
		case err == unix.EAGAIN:
			return n, nil
		case err == io.EOF:
			return n, err
		case err != nil: // a violation of the protocol; receiveLoop waits for the end
			w.killFor("it sent an invalid message: " + err.Error())
			return n, err
		}
		n++
		w.handle(m)
	}
	return n, nil
}

// Bounds of FlushDenials if the process never stops sending: more messages than fit into the
// socket by default, and a time in which they can be handled.
const (
	maxFlush     = 512 // messages; some 280 fit
	flushTimeout = time.Second
)

// FlushDenials handles the messages that have arrived. It implements egress.Interceptor. It does
// not wait for the process.
func (w *Worker) FlushDenials() {
	select {
	case <-w.ready:
	default:
		return // no connection was passed yet, and sendSecrets receives the first messages
	}
	end := time.Now().Add(flushTimeout)
	for heard := 0; heard < maxFlush || time.Now().Before(end); heard += maxReceive {
		n := 0
		w.socket.raw.Control(func(fd uintptr) { n, _ = w.receive(int(fd)) })
		if n < maxReceive {
			return
		}
	}
}

func (w *Worker) awaitExit() error {
	select {
	case <-w.exited:
	case <-time.After(exitTimeout):
		w.process.Kill()
		<-w.exited
	}
	if what := w.killReason.Load(); what != nil {
		return fmt.Errorf("mcp-jail-tls was killed because %s; start the server again", *what)
	}
	return fmt.Errorf("mcp-jail-tls has ended (%v); start the server again", w.state)
}

// handle handles one message. It answers in another goroutine, because the process may hang and
// not read the answer.
func (w *Worker) handle(m message) {
	switch {
	case m.Failed != "":
		w.failure = errors.New(m.Failed)
	case m.Dial != nil:
		c := w.conn(m.Dial.ID)
		if c == nil {
			w.reply(func() {
				w.send(message{Upstream: &upstreamMessage{m.Dial.Dial, "the connection has ended"}}, nil)
			})
			return
		}
		w.reply(func() { w.dial(c, m.Dial.Dial) })
	// The process may be in the hands of the jail or of an upstream, so each value is checked.
	case m.Denied != nil:
		if c := w.conn(m.Denied.ID); c != nil && c.target.Deny != nil {
			why := m.Denied.Why
			if !why.IsValid() {
				why = policy.DeniedRequest
			}
			c.target.Deny(why, clip(m.Denied.Detail))
		}
	case m.Leak != nil:
		if c := w.conn(m.Leak.ID); c != nil && c.target.Tell != nil && m.Leak.Place.IsValid() && m.Leak.Form.IsValid() {
			c.target.Tell(egress.Leak{Host: c.target.Name, Place: m.Leak.Place, Found: leak.Found{Name: clip(m.Leak.Name), Form: m.Leak.Form}})
		}
	case m.Connected != 0:
		if c := w.conn(m.Connected); c != nil && c.target.Connected != nil {
			c.target.Connected()
		}
	case m.Took:
		w.socket.release()
	case m.Done != 0:
		if c := w.conn(m.Done); c != nil {
			c.cancel()
		}
	}
}

// Bounds of the answers in progress: some for each possible connection, and more for one with
// many requests whose upstream fails. A process that reads no answers is killed at this bound.
const repliesPerConn, extraReplies = 16, 256

// reply runs f, which answers the process. It kills a process that asks for too many answers.
func (w *Worker) reply(f func()) {
	select {
	case w.replies <- struct{}{}:
		w.work.Go(func() {
			defer func() { <-w.replies }()
			f()
		})
	default:
		w.killFor("it sent more requests than its connections need")
	}
}

func (w *Worker) conn(id uint64) *workerConn {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.conns[id]
}

func (w *Worker) dial(c *workerConn, number uint64) {
	upstream, err := c.dial(c.ctx)
	if err != nil {
		w.send(message{Upstream: &upstreamMessage{number, clip(err.Error())}}, nil)
		return
	}
	w.send(message{Upstream: &upstreamMessage{Dial: number}}, upstream)
	upstream.Close()
}
