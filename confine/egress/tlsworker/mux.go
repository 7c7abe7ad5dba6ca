package tlsworker

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"sync"
)

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
