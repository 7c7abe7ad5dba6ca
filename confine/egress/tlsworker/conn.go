package tlsworker

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

var errReset = errors.New("the connection was reset")

// conn is one end of a connection of a mux.
type conn struct {
	mux  *mux
	id   uint32
	done chan struct{} // closed when one side has closed the connection

	mu                sync.Mutex
	changed           sync.Cond
	in                bytes.Buffer // what has arrived and was not read
	owed              int          // bytes that were read since the other side got credit
	credit            int          // bytes that may be sent
	readEnd, writeEnd error        // what Read returns after in, and what Write returns; nil before the end
	abort             bool         // Close resets the connection
	reading, writing  deadline
}

type deadline struct {
	at    time.Time
	timer *time.Timer
}

func (d *deadline) passed() bool { return !d.at.IsZero() && !time.Now().Before(d.at) }

// arrived handles a frame of the connection. It returns an error if the other side broke the protocol.
func (c *conn) arrived(kind byte, payload []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.changed.Broadcast()
	switch kind {
	case frameData:
		if c.in.Len()+c.owed+len(payload) > window {
			return errors.New("more bytes than the other side had credit for")
		}
		if c.readEnd == nil {
			c.in.Write(payload)
		}
	case frameCredit:
		if len(payload) != 4 || c.credit+int(binary.BigEndian.Uint32(payload)) > window {
			return errors.New("more credit than there is")
		}
		c.credit += int(binary.BigEndian.Uint32(payload))
	case frameEnd:
		c.readEnd = cmp.Or(c.readEnd, io.EOF)
	case frameClose:
		c.finish(io.EOF)
	case frameReset:
		c.in.Reset()
		c.readEnd = nil
		c.finish(errReset)
	default:
		return fmt.Errorf("a frame of kind %d", kind)
	}
	return nil
}

// finish ends both directions. It reports whether they had not been ended before. c.mu is held.
func (c *conn) finish(why error) bool {
	c.readEnd = cmp.Or(c.readEnd, why)
	c.writeEnd = cmp.Or(c.writeEnd, net.ErrClosed)
	for _, d := range []*deadline{&c.reading, &c.writing} {
		if d.timer != nil {
			d.timer.Stop()
		}
	}
	c.changed.Broadcast()
	select {
	case <-c.done:
		return false
	default:
	}
	close(c.done)
	c.mux.mu.Lock()
	delete(c.mux.conns, c.id)
	c.mux.mu.Unlock()
	return true
}

// Read implements net.Conn.
func (c *conn) Read(p []byte) (int, error) {
	n, credit, err := c.takeArrived(p)
	if credit > 0 {
		c.mux.send(frameCredit, c.id, binary.BigEndian.AppendUint32(nil, uint32(credit)))
	}
	return n, err
}

func (c *conn) takeArrived(p []byte) (n, credit int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		switch {
		case c.reading.passed():
			return 0, 0, os.ErrDeadlineExceeded
		case c.in.Len() > 0:
			n, _ = c.in.Read(p)
			if c.in.Len() == 0 && c.in.Cap() > maxData {
				c.in = bytes.Buffer{} // an idle connection needs no memory
			}
			c.owed += n
			if c.owed >= window/4 {
				credit, c.owed = c.owed, 0
			}
			return n, credit, nil
		case c.readEnd != nil:
			return 0, 0, c.readEnd
		}
		c.changed.Wait()
	}
}

// Write implements net.Conn. It waits until the other side has read what was sent before, but for a window.
func (c *conn) Write(p []byte) (n int, err error) {
	for n < len(p) {
		part, err := c.takeCredit(len(p) - n)
		if err == nil {
			err = c.mux.send(frameData, c.id, p[n:n+part])
		}
		if err != nil {
			return n, err
		}
		n += part
	}
	return n, nil
}

func (c *conn) takeCredit(n int) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		switch {
		case c.writing.passed():
			return 0, os.ErrDeadlineExceeded
		case c.writeEnd != nil:
			return 0, c.writeEnd
		case c.credit > 0:
			n = min(n, c.credit, maxData)
			c.credit -= n
			return n, nil
		}
		c.changed.Wait()
	}
}

// CloseWrite tells the other side that no more bytes come.
func (c *conn) CloseWrite() error {
	c.mu.Lock()
	ended := c.writeEnd != nil
	c.writeEnd = cmp.Or(c.writeEnd, net.ErrClosed)
	c.mu.Unlock()
	if ended {
		return nil
	}
	return c.mux.send(frameEnd, c.id, nil)
}

// SetLinger has Close reset the connection, if it is set to 0.
func (c *conn) SetLinger(seconds int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.abort = seconds == 0
	return nil
}

// Close implements net.Conn. The other side still reads what was sent.
func (c *conn) Close() error {
	c.mu.Lock()
	kind := frameClose
	if c.abort {
		kind = frameReset
	}
	c.in.Reset()
	c.readEnd = net.ErrClosed
	open := c.finish(net.ErrClosed)
	c.mu.Unlock()
	if !open {
		return nil
	}
	return c.mux.send(kind, c.id, nil)
}

// LocalAddr implements net.Conn. The connection has no address.
func (c *conn) LocalAddr() net.Addr { return &net.TCPAddr{} }

// RemoteAddr implements net.Conn.
func (c *conn) RemoteAddr() net.Addr { return &net.TCPAddr{} }

// SetDeadline implements net.Conn.
func (c *conn) SetDeadline(at time.Time) error {
	return errors.Join(c.SetReadDeadline(at), c.SetWriteDeadline(at))
}

// SetReadDeadline implements net.Conn.
func (c *conn) SetReadDeadline(at time.Time) error { return c.setDeadline(&c.reading, at) }

// SetWriteDeadline implements net.Conn.
func (c *conn) SetWriteDeadline(at time.Time) error { return c.setDeadline(&c.writing, at) }

func (c *conn) setDeadline(d *deadline, at time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if d.timer != nil {
		d.timer.Stop()
	}
	*d = deadline{at: at}
	select {
	case <-c.done: // nothing waits any more
		return nil
	default:
	}
	if !at.IsZero() {
		d.timer = time.AfterFunc(time.Until(at), func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.changed.Broadcast()
		})
	}
	c.changed.Broadcast()
	return nil
}

// Everything between the launcher and the process is a frame: its kind, the number of a connection, the
// length of what follows, and that.
const (
	frameMessage byte = iota // JSON, of connection 0
	frameData                // bytes of a connection
	frameCredit              // how many more bytes the other side may send, 4 bytes
	frameEnd                 // no more bytes come
	frameClose               // the connection has ended
	frameReset               // the connection has failed
)

const (
	frameHeader = 9
	maxData     = 32 << 10
	maxSetup    = 32 << 20  // the first message, which has the host's authorities
	maxMessage  = 160 << 10 // a message of the process: its certificate names each host
	window      = 64 << 10  // bytes of a connection that are sent before the other side has read them
)

// A mux carries messages and connections over one stream. Any goroutine may send. What arrives is kept until it
// is read, so no connection holds up another.
type mux struct {
	write   func([]byte) error
	most    uint32 // bytes of a message that it receives
	sending sync.Mutex
	mu      sync.Mutex
	conns   map[uint32]*conn // nil when the stream has ended
}

func newMux(most uint32, write func([]byte) error) *mux {
	return &mux{write: write, most: most, conns: map[uint32]*conn{}}
}

func (m *mux) send(kind byte, id uint32, payload []byte) error {
	frame := make([]byte, frameHeader, frameHeader+len(payload))
	frame[0] = kind
	binary.BigEndian.PutUint32(frame[1:], id)
	binary.BigEndian.PutUint32(frame[5:], uint32(len(payload)))
	m.sending.Lock()
	defer m.sending.Unlock()
	return m.write(append(frame, payload...))
}

func (m *mux) sendMessage(msg message) error {
	b, err := json.Marshal(msg)
	if err != nil {
		return err
	}
	return m.send(frameMessage, 0, b)
}

// receive handles frames until the stream ends or breaks the protocol, and passes messages on. handle must
// not wait for the other side.
func (m *mux) receive(in io.Reader, handle func(message) error) error {
	head := make([]byte, frameHeader)
	for {
		if _, err := io.ReadFull(in, head); err != nil {
			return err
		}
		kind, id, n := head[0], binary.BigEndian.Uint32(head[1:]), binary.BigEndian.Uint32(head[5:])
		if n > maxData && (kind != frameMessage || n > m.most) {
			return fmt.Errorf("a frame of %d bytes", n)
		}
		payload := make([]byte, n)
		if _, err := io.ReadFull(in, payload); err != nil {
			return err
		}
		if kind == frameMessage {
			var msg message
			err := json.Unmarshal(payload, &msg)
			if err == nil {
				err = handle(msg)
			}
			if err != nil {
				return err
			}
			continue
		}
		m.mu.Lock()
		c := m.conns[id]
		m.mu.Unlock()
		if c == nil {
			continue // it was closed here, which the other side did not know yet
		}
		if err := c.arrived(kind, payload); err != nil {
			return err
		}
	}
}

// open adds a connection with a number that both sides know.
func (m *mux) open(id uint32) (*conn, error) {
	c := &conn{mux: m, id: id, credit: window, done: make(chan struct{})}
	c.changed.L = &c.mu
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.conns == nil {
		return nil, net.ErrClosed
	}
	if m.conns[id] != nil {
		return nil, fmt.Errorf("connection %d is open", id)
	}
	m.conns[id] = c
	return c, nil
}

// end ends all connections, because the stream has ended.
func (m *mux) end() {
	m.mu.Lock()
	conns := m.conns
	m.conns = nil
	m.mu.Unlock()
	for _, c := range conns {
		c.arrived(frameReset, nil)
	}
}
