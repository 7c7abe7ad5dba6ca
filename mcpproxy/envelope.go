package mcpproxy

// Envelope holds the members of one JSON-RPC message that the proxy needs. A nil slice means that the
// member is absent.
type Envelope struct {
	ID      []byte // the raw token: `7`, `"a\u0062"`, `null`; nil when absent or not a legal id
	Method  []byte // decoded, without quotes
	Name    []byte // params.name, decoded: the tool of a tools/call
	Code    []byte // error.code, the raw token
	Version []byte // the modern protocol version in params._meta, decoded
	Cancels []byte // params.requestId of a notifications/cancelled, the raw token
	Token   []byte // progressToken, the raw token: from params of notifications/progress, else from params._meta

	Recognised bool // the object has the members of a JSON-RPC message: see keySet.isMessage
	IsError    bool // result.isError is true

	IDAt         Span // of ID
	CancelsAt    Span // of Cancels
	TokenAt      Span // of Token
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
	ErrorMessage Span // error.message

	// Reserved holds the members whose names begin with ReservedPrefix, each from its name
	// to the end of its value. They are found in params._meta,
	// params.capabilities.experimental, result._meta and error.data, also where those are
	// duplicate or written in another case. mcp-jail writes such members; a peer may forge
	// them. At most MaxReserved are recorded.
	Reserved []*Span

	progress   []byte // params.progressToken, which is Token in a notifications/progress
	progressAt Span
}

// ReservedPrefix begins the names of the members that only mcp-jail may add to a message.
const ReservedPrefix = "dev.mcp-jail/"

// MaxReserved is the number of reserved members that are recorded for one message.
const MaxReserved = 64

// Span is the position of a value, in bytes from the start of the frame.
type Span struct {
	Start, End int64 // End is exclusive
	Kind       byte  // first byte of the value: '{', '[', '"', 't', …; 0 when the value is absent
	Empty      bool  // the value is a container without members
}

// Present reports whether the value exists.
func (s Span) Present() bool { return s.Kind != 0 }

// Kind tells the four sorts of messages apart.
type Kind uint8

const (
	Other        Kind = iota // not a JSON-RPC message
	Request                  // has a method and an id
	Notification             // has a method and no id
	Response                 // has a result or an error, and no method
)

// Kind classifies the message. A request with a null id is a Request, although MCP forbids
// it: see Trackable.
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

// Trackable reports whether a response can be matched to the id. MCP, "Base Protocol,
// Requests": "Unlike base JSON-RPC, the ID MUST NOT be null".
func (e *Envelope) Trackable() bool { return e.ID != nil && e.ID[0] != 'n' }
