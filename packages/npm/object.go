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

// truth reports whether JavaScript counts a member as true.
func (o object) truth(name string) bool {
	switch string(bytes.TrimSpace(o[name])) {
	case "", "null", "false", "0", `""`:
		return false
	}
	return true
}
