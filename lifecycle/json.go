package lifecycle

import (
	"bytes"
	"encoding/json"
)

// jsonObject is {"name":value}.
func jsonObject(name string, value []byte) []byte {
	b := append(jsonString(name), ':')
	return append(append(append([]byte{'{'}, b...), value...), '}')
}

func jsonString(s string) []byte {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string
	}
	return b
}

// eachMember visits the members of an object: its name, and its value with its
// offset in the object. Of something else, or of a frame that is not held in
// memory, there are none.
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

// replaceMember is an object with the value of a member changed, where there is one.
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

// filterMembers is an object with those members of another that are to be kept, each with
// its own bytes.
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
