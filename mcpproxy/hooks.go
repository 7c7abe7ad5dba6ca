package mcpproxy

// Side is one end of the connection.
type Side uint8

const (
	FromClient Side = iota
	FromServer
)

// Hooks are the places at which a Proxy asks somebody. Each may be nil. They run
// on the goroutine of RunClient or of RunServer, before the frame is forwarded;
// frame, envelope and call are valid until they return.
type Hooks struct {
	// Request is told every request of the client.
	Request func(f *Frame, e *Envelope)
	// FirstAnswer is told when a server gives its first answer: once for each
	// RunServer, whatever it answers to.
	FirstAnswer func()
	// Response is told every answer of the server to a request of the client. It
	// may insert into the frame.
	Response func(f *Frame, e *Envelope, c *Call)
	// Progress is told every notifications/progress of the server.
	Progress func(e *Envelope)
	// Oversized is told every frame that is dropped because of its size. Its
	// requests are not in a table, and its answers are still in theirs.
	Oversized func(from Side, f *Frame)
	// Junk is told every line of the server that is not forwarded because it is
	// no MCP message.
	Junk func(f *Frame)
}
