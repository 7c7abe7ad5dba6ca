package mcpproxy

import "io"

// Conn is one peer: the frames that come from it and the writer of those that go
// to it. A server's Conn is an Upstream.
type Conn struct {
	*Reader
	*Writer
}

// NewConn returns a Conn over two streams. limit is that of NewReader.
func NewConn(in io.Reader, out io.Writer, limit int64) *Conn {
	return &Conn{NewReader(in, limit), NewWriter(out)}
}

// Upstream takes the client's frames. Send blocks while the other side does not
// read; the frame is valid until it returns.
type Upstream interface{ Send(*Frame) error }
