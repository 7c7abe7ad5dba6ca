package npm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// An object is a JSON object whose values are not decoded yet. encoding/json matches the
// fields of a struct in any case; JavaScript does not, so "Bin" must not be taken for "bin".
type object map[string]json.RawMessage

// readObject decodes a file of npm. It accepts a byte order mark, as npm does.
func readObject(data []byte) (object, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	var o object
	if err := json.Unmarshal(data, &o); err != nil {
		return nil, fmt.Errorf("it is not a JSON object: %w", err)
	}
	if o == nil {
		return nil, errors.New("it is null, not a JSON object")
	}
	return o, nil
}

func (o object) text(name string) string {
	var s string
	if json.Unmarshal(o[name], &s) != nil {
		return ""
	}
	return s
}

func (o object) object(name string) object {
	var m object
	if json.Unmarshal(o[name], &m) != nil {
		return nil
	}
	return m
}

func (o object) list(name string) []string {
	if s := o.text(name); s != "" {
		return []string{s}
	}
	var l []string
	if json.Unmarshal(o[name], &l) != nil {
		return nil
	}
	return l
}

// truth reports whether JavaScript counts a member as true.
func (o object) truth(name string) bool {
	switch string(bytes.TrimSpace(o[name])) {
	case "", "null", "false", "0", `""`:
		return false
	}
	return true
}

// A member is one name of an object, with its value.
type member struct {
	name  string
	value json.RawMessage
}

// members returns the members of an object in the order of the file. A name that occurs
// twice keeps its first place and its last value.
func members(data json.RawMessage) ([]member, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("it is not an object")
	}
	var out []member
	at := map[string]int{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, err
		}
		name, _ := t.(string)
		var v json.RawMessage
		if err := d.Decode(&v); err != nil {
			return nil, err
		}
		if i, ok := at[name]; ok {
			out[i].value = v
			continue
		}
		at[name] = len(out)
		out = append(out, member{name, v})
	}
	return out, nil
}
