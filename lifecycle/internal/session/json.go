package session

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// JSONObject returns {"name":value}.
func JSONObject(name string, value []byte) []byte {
	b := append(JSONString(name), ':')
	return append(append(append([]byte{'{'}, b...), value...), '}')
}

// JSONArray returns an array of elements that are JSON.
func JSONArray(elements [][]byte) []byte {
	return slices.Concat([]byte{'['}, bytes.Join(elements, []byte{','}), []byte{']'})
}

// JSONString returns s as a JSON string.
func JSONString(s string) []byte {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string
	}
	return b
}

// Cancellation returns the notification that cancels a request (MCP, "Cancellation").
func Cancellation(id []byte, reason string) []byte {
	return mcpproxy.NewNotification("notifications/cancelled", fmt.Appendf(nil, `{"requestId":%s,"reason":%s}`, id, JSONString(reason)))
}

// EachMember calls visit for each member of an object, with its name, the offset of its
// value in the object, and the value. If object is no JSON object, or nil because the
// frame is not held in memory, it calls nothing.
func EachMember(object []byte, visit func(name string, at int64, value []byte)) {
	d := json.NewDecoder(bytes.NewReader(object))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return
		}
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return
		}
		end := d.InputOffset()
		visit(name.(string), end-int64(len(value)), object[end-int64(len(value)):end])
	}
}

// ReplaceMember returns an object with the value of one member changed. All other bytes stay.
func ReplaceMember(object []byte, member string, change func(value []byte) []byte) []byte {
	out, added := object, int64(0)
	EachMember(object, func(name string, at int64, value []byte) {
		if name == member {
			changed := change(value)
			out = Splice(out, at+added, at+added+int64(len(value)), changed)
			added += int64(len(changed) - len(value))
		}
	})
	return out
}

// ReplaceElements returns an array with its elements changed, and without those for which change returns nil. If change
// changes none, or list is no array, it returns list itself.
func ReplaceElements(list []byte, change func(element []byte) []byte) []byte {
	var all []json.RawMessage
	var kept [][]byte
	isNew := false
	if json.Unmarshal(list, &all) != nil {
		return list
	}
	for _, element := range all {
		changed := change(element)
		isNew = isNew || !bytes.Equal(changed, element)
		if changed != nil {
			kept = append(kept, changed)
		}
	}
	if !isNew {
		return list
	}
	return JSONArray(kept)
}

// Splice returns a text with the bytes from one offset to another replaced.
func Splice(text []byte, from, to int64, value []byte) []byte {
	return slices.Concat(text[:from], value, text[to:])
}

// FilterMembers returns an object with those members that keep selects, each with its own
// bytes.
func FilterMembers(object []byte, keep func(name string) bool) []byte {
	if len(object) > 0 && object[0] != '{' {
		return object
	}
	var kept [][]byte
	EachMember(object, func(name string, _ int64, value []byte) {
		if keep(name) {
			kept = append(kept, slices.Concat(JSONString(name), []byte{':'}, value))
		}
	})
	return slices.Concat([]byte{'{'}, bytes.Join(kept, []byte{','}), []byte{'}'})
}

// IDsIn returns the ids that readers could see in a message, as JSON tokens. If the
// message is not held in memory, it returns the id of the envelope.
func IDsIn(f *mcpproxy.Frame, e *mcpproxy.Envelope) (ids [][]byte) {
	object := f.Slice(e.Self)
	if object == nil {
		return [][]byte{e.ID}
	}
	EachMember(object, func(name string, _ int64, value []byte) {
		if strings.EqualFold(name, "id") {
			ids = append(ids, value)
		}
	})
	return ids
}

// DeclinedDiscover returns the error that answers server/discover in a server's name.
func DeclinedDiscover(server, why string) []byte {
	text := fmt.Sprintf("mcp-jail: server %q %s; mcp-jail takes it for a server that does not know this method", server, why)
	return mcpproxy.ErrorValue(-32601, text, fmt.Appendf(nil, `{"dev.mcp-jail/discover-guard":{"server":%s,"method":"server/discover"}}`, JSONString(server)))
}
