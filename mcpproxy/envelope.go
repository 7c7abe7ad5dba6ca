package mcpproxy

// Envelope is what one JSON-RPC message says about itself. The byte slices are
// valid until the next frame is read; nil means absent.
type Envelope struct {
	ID      []byte // the raw token: `7`, `"a\u0062"`, `null`; nil when absent or no legal id
	Method  []byte // decoded, without quotes
	Name    []byte // params.name, decoded: the tool of a tools/call
	Code    []byte // error.code, the raw token
	Version []byte // the modern protocol version in params._meta, decoded
	Cancels []byte // params.requestId of a notifications/cancelled, the raw token
	Token   []byte // progressToken, the raw token: of notifications/progress in params, of all else in params._meta

	JSONRPC bool // there is a jsonrpc member
	IsError bool // result.isError is true

	IDAt         Span // where ID stands
	CancelsAt    Span // where Cancels stands
	TokenAt      Span // where Token stands
	Self         Span // the message itself
	Params       Span // members of the message
	Capabilities Span // params.capabilities
	Roots        Span // params.capabilities.roots
	Experimental Span // params.capabilities.experimental
	Inputs       Span // params.inputResponses
	ParamsMeta   Span // params._meta
	Result       Span
	ResultMeta   Span // result._meta
	Content      Span // result.content
	Error        Span
	ErrorData    Span // error.data

	// Own are the members whose names begin with OwnPrefix, from name to value, in
	// params._meta, params.capabilities.experimental, result._meta and error.data:
	// what this program says, or somebody in its name. All of them stand here,
	// also those of a duplicate or differently written _meta, up to MaxOwn.
	Reserved []*Span
}

// ReservedPrefix is how the names begin that only this program puts into a message.
const ReservedPrefix = "dev.mcp-jail/"

// MaxReserved is how many members of that kind are remembered of one message.
const MaxReserved = 64

// Span is where a value stands, in bytes from the start of the frame.
type Span struct {
	Start, End int64 // End is exclusive
	Kind       byte  // first byte of the value: '{', '[', '"', 't', …; 0 when there is no such value
	Empty      bool  // a container without members
}

// Present reports whether the value exists.
func (s Span) Present() bool { return s.Kind != 0 }

// Kind tells the four sorts of messages apart.
type Kind uint8

const (
	Other        Kind = iota // no JSON-RPC message
	Request                  // has a method and an id
	Notification             // has a method and no id
	Response                 // has a result or an error, and no method
)

// Kind classifies the message. A request whose id is null is a Request here,
// although MCP forbids it; see Trackable.
func (e *Envelope) Kind() Kind {
	switch {
	case e.Method != nil && e.ID != nil:
		return Request
	case e.Method != nil:
		return Notification
	case e.Result.Present() || e.Error.Present():
		return Response
	}
	return Other
}

// Trackable reports whether an answer could be matched to the id. MCP, "Base
// Protocol, Requests": "Unlike base JSON-RPC, the ID MUST NOT be null".
func (e *Envelope) Trackable() bool { return e.ID != nil && e.ID[0] != 'n' }
