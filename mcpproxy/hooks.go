package mcpproxy

// Side is one end of the connection.
type Side uint8

const (
	FromClient Side = iota
	FromServer
)

// Hooks are the functions that a Proxy calls. Each may be nil. They run on the goroutine
// of RunClient or RunServer before the frame is forwarded. Frame, envelope and call are
// valid until the hook returns. A hook that receives a frame may edit it.
type Hooks struct {
	// ClientRequest is called for every request of the client. When it returns true, the
	// request is not forwarded and the hook is responsible for the response.
	ClientRequest func(f *Frame, e *Envelope) (answered bool)
	// ClientResponse is called for every response of the client to a request of the
	// server.
	ClientResponse func(f *Frame, e *Envelope, c *Call)

	// ServerFrame is called for every frame of the server with messages, before any of its
	// messages is matched. When it returns true, the frame is not forwarded, and no other
	// hook is called for it.
	ServerFrame func(f *Frame) (drop bool)
	// FirstResponse is called for the responses of a server until it returns true for one,
	// which then counts as the server's first. This starts over with each RunServer. c is
	// nil for a response that matches no request.
	FirstResponse func(e *Envelope, c *Call) bool
	// ReservedMembers is called for every message of the server that carries reserved
	// members: see Envelope.Reserved. It is called before ServerResponse.
	ReservedMembers func(f *Frame, e *Envelope)
	// ServerResponse is called for every response of the server to a request of the
	// client.
	ServerResponse func(f *Frame, e *Envelope, c *Call)
	// UnmatchedResponse is called for every response of the server that matches no request
	// of the client. When it returns true, the response is not forwarded.
	UnmatchedResponse func(e *Envelope) (drop bool)
	// ServerRequest is called for every request of the server. When it returns true, the
	// request is not forwarded and the hook is responsible for the response.
	ServerRequest func(e *Envelope) bool
	// TooManyPending is called for every request that is not forwarded because there is no memory
	// for more requests that wait for responses.
	TooManyPending func(from Side, e *Envelope)
	// Oversized is called for every frame that is dropped because it is Oversized: see Frame.
	// Requests in it were not added to a table, and responses in it were not removed from theirs.
	Oversized func(from Side, f *Frame)
	// NonMessage is called for every line of the server that is not forwarded because it is not
	// an MCP message.
	NonMessage func(f *Frame)
}
