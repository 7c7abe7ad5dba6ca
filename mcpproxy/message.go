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
