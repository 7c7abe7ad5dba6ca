package edit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"

	burntsushi "github.com/BurntSushi/toml"
	"go.yaml.in/yaml/v3"
)

// The second parsers. They return the whole file as values: an object (JSON), or the maps
// and slices of package reflect. Their trees are compared, and know no places.

// An object keeps the order of its members, and keys that are there twice.
type object []field

type field struct {
	name  string
	value any
}

func (f Format) decode(src []byte) (any, error) {
	switch f {
	case JSON:
		return decodeJSON(src)
	case TOML:
		return decodeTOML(src)
	}
	return decodeYAML(src)
}

func decodeJSON(src []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(plainJSON(src)))
	d.UseNumber()
	v, err := readJSON(d)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more than one value")
	}
	return v, nil
}

func readJSON(d *json.Decoder) (any, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t {
	case json.Delim('{'):
		o := object{}
		for d.More() {
			name, err := d.Token()
			if err != nil {
				return nil, err
			}
			value, err := readJSON(d)
			if err != nil {
				return nil, err
			}
			o = append(o, field{name.(string), value})
		}
		_, err = d.Token()
		return o, err
	case json.Delim('['):
		list := []any{}
		for d.More() {
			item, err := readJSON(d)
			if err != nil {
				return nil, err
			}
			list = append(list, item)
		}
		_, err = d.Token()
		return list, err
	}
	return t, nil
}

// plainJSON blanks the byte order mark, comments and trailing commas.
func plainJSON(src []byte) []byte {
	out := bytes.Clone(src)
	if bytes.HasPrefix(out, []byte(byteOrderMark)) {
		copy(out, "   ")
	}
	comma := -1 // the last byte that counts, if it is a comma
	for i := 0; i < len(out); i++ {
		switch c := out[i]; c {
		case ' ', '\t', '\r', '\n':
			continue
		case '/':
			if end := endOfComment(out, i); end > i {
				for ; i < end; i++ {
					out[i] = ' '
				}
				i--
				continue
			}
		case '"':
			i = endOfString(out, i) - 1
		case ']', '}':
			// The comma before a closing bracket is a trailing one.
			if comma >= 0 {
				out[comma] = ' '
			}
		case ',':
			comma = i
			continue
		}
		comma = -1
	}
	return out
}

func decodeTOML(src []byte) (any, error) {
	var v map[string]any
	if err := burntsushi.Unmarshal(bytes.TrimPrefix(src, []byte(byteOrderMark)), &v); err != nil {
		return nil, err
	}
	return v, nil
}

func decodeYAML(src []byte) (any, error) {
	var v any
	if err := yaml.Unmarshal(src, &v); err != nil {
		return nil, err
	}
	return v, nil
}

func lineOf(err error) (line int) {
	if e := (burntsushi.ParseError{}); errors.As(err, &e) {
		return e.Position.Line
	}
	if _, rest, found := strings.Cut(err.Error(), "line "); found {
		_, _ = fmt.Sscanf(rest, "%d", &line)
	}
	return line
}

// sameValue reports whether two values of second parsers are equal. NaN equals itself.
func sameValue(a, b any) bool {
	switch a := a.(type) {
	case object:
		b, ok := b.(object)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if a[i].name != b[i].name || !sameValue(a[i].value, b[i].value) {
				return false
			}
		}
		return true
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for name, value := range a {
			if other, ok := b[name]; !ok || !sameValue(value, other) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		return ok && sameList(a, b)
	case []map[string]any:
		b, ok := b.([]map[string]any)
		return ok && sameList(a, b)
	case float64:
		b, ok := b.(float64)
		return ok && (a == b || math.IsNaN(a) && math.IsNaN(b))
	}
	return reflect.DeepEqual(a, b)
}

func sameList[T any](a, b []T) bool {
	return slices.EqualFunc(a, b, func(x, y T) bool { return sameValue(x, y) })
}
