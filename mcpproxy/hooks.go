package mcpproxy

// Side is one end of the connection.
type Side uint8

const (
	FromClient Side = iota
	FromServer
)

// Hooks are the places at which a Proxy asks somebody. Each may be nil. They run
// on the goroutine of RunClient or of RunServer, before the frame is forwarded;
// frame, envelope and call are valid until they return. Those that are given a
// frame may edit it.
type Hooks struct {
	// Request is told every request of the client.
	ClientRequest func(f *Frame, e *Envelope)
	// Reply is told every answer of the client to a request of the server.
	ClientResponse func(f *Frame, e *Envelope, c *Call)

	// FirstAnswer is told the answers of a server until it says of one that it
	// counts as the first: once for each RunServer, then. c is nil when nobody has
	// asked for the answer.
	FirstResponse func(e *Envelope, c *Call) bool
	// Forged is told every answer of the server that carries members of ours: see
	// Envelope.Own. It comes before Response.
	ReservedMembers func(f *Frame, e *Envelope)
	// Response is told every answer of the server to a request of the client.
	ServerResponse func(f *Frame, e *Envelope, c *Call)
	// Asked is told every request of the server, and says whether it is not for the
	// client: then it goes no further, and whoever said so answers it.
	ServerRequest func(e *Envelope) bool
	// Crowded is told every request of the server that goes no further because
	// thousands of its requests wait for their answers.
	TooManyPending func(e *Envelope)
	// Progress is told every notifications/progress of the server.
	Progress func(e *Envelope)
	// Oversized is told every frame that is dropped because of its size. Its
	// requests are not in a table, and its answers are still in theirs.
	Oversized func(from Side, f *Frame)
	// Junk is told every line of the server that is not forwarded because it is
	// no MCP message.
	Junk func(f *Frame)
}
