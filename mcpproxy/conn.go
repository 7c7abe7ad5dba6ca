package mcpproxy

import "io"

// Conn is one peer: it reads the frames that the peer sends and writes the frames for it.
// The Conn of a server is an Upstream.
type Conn struct {
	*Reader
	*Writer
}

// NewConn returns a Conn over two streams. limit has the meaning that it has for
// NewReader.
func NewConn(in io.Reader, out io.Writer, limit int64) *Conn {
	return &Conn{NewReader(in, limit), NewWriter(out)}
}

// Upstream receives the client's frames. Send blocks while the other side does not read.
// The frame is valid until Send returns.
type Upstream interface{ Send(*Frame) error }
