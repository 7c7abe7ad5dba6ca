package lifecycle

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// jsonObject returns {"name":value}.
func jsonObject(name string, value []byte) []byte {
	b := append(jsonString(name), ':')
	return append(append(append([]byte{'{'}, b...), value...), '}')
}

// jsonString returns s as a JSON string.
func jsonString(s string) []byte {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string
	}
	return b
}

// cancellation returns the notification that cancels a request (MCP, "Cancellation").
func cancellation(id []byte, reason string) []byte {
	return mcpproxy.NewNotification("notifications/cancelled", fmt.Appendf(nil, `{"requestId":%s,"reason":%s}`, id, jsonString(reason)))
}

// eachMember calls visit for each member of an object, with its name, the offset of its
// value in the object, and the value. If object is no JSON object, or nil because the
// frame is not held in memory, it calls nothing.
func eachMember(object []byte, visit func(name string, at int64, value []byte)) {
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

// replaceMember returns an object with the value of one member changed. Without that
// member it returns the object itself.
func replaceMember(object []byte, member string, change func([]byte) []byte) []byte {
	out, found := []byte{'{'}, false
	eachMember(object, func(name string, _ int64, value []byte) {
		if name == member {
			found = true
			value = change(value)
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, jsonString(name)...), ':'), value...)
	})
	if !found {
		return object
	}
	return append(out, '}')
}

// filterMembers returns an object with those members that keep selects, each with its own
// bytes.
func filterMembers(object []byte, keep func(name string) bool) []byte {
	if len(object) > 0 && object[0] != '{' {
		return object
	}
	kept := []byte{'{'}
	eachMember(object, func(name string, _ int64, value []byte) {
		if !keep(name) {
			return
		}
		if len(kept) > 1 {
			kept = append(kept, ',')
		}
		kept = append(append(append(kept, jsonString(name)...), ':'), value...)
	})
	return append(kept, '}')
}
