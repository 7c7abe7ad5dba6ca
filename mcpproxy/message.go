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
