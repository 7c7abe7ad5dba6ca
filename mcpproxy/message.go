package mcpproxy

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// The constructors below return our own messages, each one line with its line end. Ids, params,
// results and data are JSON. They are copied byte for byte: as an id, 1.0 differs from 1.

// NewRequest returns a request.
func NewRequest(id []byte, method string, params []byte) []byte {
	return begin().add("id", id).add("method", quote(method)).add("params", params).line()
}

// NewNotification returns a notification. params may be nil.
func NewNotification(method string, params []byte) []byte {
	return begin().add("method", quote(method)).add("params", params).line()
}

// NewResponse returns a response. member is "result" or "error".
func NewResponse(id []byte, member string, value []byte) []byte {
	return begin().add("id", id).add(member, value).line()
}

// NewError returns the error in response to a request. data may be nil.
func NewError(id []byte, code int, text string, data []byte) []byte {
	return NewResponse(id, "error", ErrorValue(code, text, data))
}

// ErrorValue returns the member "error" of a response. data may be nil.
func ErrorValue(code int, text string, data []byte) []byte {
	return append(object{'{'}.add("code", strconv.AppendInt(nil, int64(code), 10)).add("message", quote(text)).add("data", data), '}')
}

// object is a JSON object without its closing brace.
type object []byte

func begin() object { return object{'{'}.add("jsonrpc", []byte(`"2.0"`)) }

func (o object) add(name string, value []byte) object {
	if value == nil {
		return o
	}
	if len(o) > 1 {
		o = append(o, ',')
	}
	return append(append(strconv.AppendQuote(o, name), ':'), value...)
}

func (o object) line() []byte { return append(o, "}\n"...) }

func quote(s string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // people read the text of an error
	e.Encode(s)            // a string cannot fail
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'})
}

// Era is a generation of the protocol. It is a property of a message, not of a
// connection, which may carry both.
type Era uint8

const (
	EraUnknown Era = iota // the message does not say
	Legacy                // 2024-11-05 … 2025-11-25: a session that begins with initialize
	Modern                // 2026-07-28: every request is self-contained
)

// VersionKey names the member of params._meta that every modern request carries
// (2026-07-28, "Request metadata").
const VersionKey = "io.modelcontextprotocol/protocolVersion"

// Era returns the era that a request belongs to.
func (e *Envelope) Era() Era {
	switch {
	case e.Version != nil:
		return Modern
	case e.Method == nil:
		return EraUnknown
	}
	switch string(e.Method) {
	case "server/discover", "subscriptions/listen", "notifications/subscriptions/acknowledged":
		return Modern
	case "initialize", "notifications/initialized", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe":
		return Legacy
	}
	return EraUnknown
}

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

// IDKey returns the comparable form of an id or a progress token: it is the same for two raw tokens
// that denote the same id. JSON-RPC 2.0, "Response object", wants the value of the id, so a number is
// compared by its value: 3, 3.0 and 3e0 are one id, and 9007199254740993 differs from …992. A string is
// compared by its content, because peers escape the same string differently ("é" and "\u00e9"). Its
// quote distinguishes it from a number.
func IDKey(id []byte) string {
	switch {
	case len(id) < 2 || id[0] != '"':
		return numberKey(id)
	case bytes.IndexByte(id, '\\') < 0:
		return string(id)
	}
	text, _ := appendUnescaped([]byte{'"'}, id[1:len(id)-1])
	return string(append(text, '"'))
}

// numberKey returns the comparable form of a number: its digits without zeros around them, and the
// power of ten. Other tokens, such as null, stay as they are.
func numberKey(token []byte) string {
	digits, negative := bytes.CutPrefix(token, []byte{'-'})
	if len(digits) == 0 || digits[0] < '0' || digits[0] > '9' {
		return string(token)
	}
	exponent := 0
	if i := bytes.IndexAny(digits, "eE"); i >= 0 {
		n, err := strconv.Atoi(string(digits[i+1:]))
		if err != nil || n > 1<<30 || n < -1<<30 {
			return string(token)
		}
		exponent, digits = n, digits[:i]
	}
	whole, fraction, _ := bytes.Cut(digits, []byte{'.'})
	exponent -= len(fraction)
	digits = bytes.TrimLeft(append(bytes.Clone(whole), fraction...), "0")
	short := bytes.TrimRight(digits, "0")
	if len(short) == 0 {
		return "0"
	}
	key := string(short) + "e" + strconv.Itoa(exponent+len(digits)-len(short))
	if negative {
		key = "-" + key
	}
	return key
}
