package learncmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
)

// schema is the part of a JSON schema from which a value is made.
type schema struct {
	Type       any                        `json:"type"`
	Const      json.RawMessage            `json:"const"`
	Enum       []json.RawMessage          `json:"enum"`
	Default    json.RawMessage            `json:"default"`
	Examples   []json.RawMessage          `json:"examples"`
	Properties map[string]json.RawMessage `json:"properties"`
	Required   []string                   `json:"required"`
	Items      json.RawMessage            `json:"items"`
	MinItems   int                        `json:"minItems"`
	MinLength  int                        `json:"minLength"`
	MaxLength  *int                       `json:"maxLength"`
	Minimum    *float64                   `json:"minimum"`
	Above      *float64                   `json:"exclusiveMinimum"`
	Maximum    *float64                   `json:"maximum"`
	Format     string                     `json:"format"`
	Pattern    string                     `json:"pattern"`
	AnyOf      []json.RawMessage          `json:"anyOf"`
	OneOf      []json.RawMessage          `json:"oneOf"`
	AllOf      []json.RawMessage          `json:"allOf"`
	Ref        string                     `json:"$ref"`
	Defs       map[string]json.RawMessage `json:"$defs"`
	OldDefs    map[string]json.RawMessage `json:"definitions"`
}

// maxDepth bounds how deep a schema may nest: one may refer to itself.
const maxDepth = 12

type maker struct {
	place     place
	readsFile bool                       // the name of the tool says that its path is one of a file
	defs      map[string]json.RawMessage // by their reference
}

// argumentsFor returns the smallest arguments that a schema allows: the required ones alone. Where a schema
// wants a path, it is that of the workspace or of a file in it.
func argumentsFor(tool string, raw json.RawMessage, place place) (json.RawMessage, error) {
	if len(raw) == 0 {
		return json.RawMessage("{}"), nil
	}
	words := splitWords(tool)
	m := &maker{place: place, defs: map[string]json.RawMessage{"#": raw}}
	m.readsFile = slices.ContainsFunc(words, func(w string) bool { return w == "read" || w == "open" || slices.Contains(fileWords, w) }) &&
		!slices.ContainsFunc(words, func(w string) bool { return w == "list" || w == "search" || slices.Contains(directoryWords, w) })
	var top schema
	if err := json.Unmarshal(raw, &top); err != nil {
		return nil, errors.New("its schema cannot be read")
	}
	for prefix, defs := range map[string]map[string]json.RawMessage{"#/$defs/": top.Defs, "#/definitions/": top.OldDefs} {
		for name, def := range defs {
			m.defs[prefix+name] = def
		}
	}
	value, err := m.object(&top, 0)
	if err != nil {
		return nil, err
	}
	return json.Marshal(value)
}

func (m *maker) object(s *schema, depth int) (map[string]any, error) {
	out := map[string]any{}
	for _, part := range s.AllOf {
		var one schema
		if json.Unmarshal(part, &one) != nil {
			return nil, errors.New("its schema cannot be read")
		}
		more, err := m.object(&one, depth+1)
		if err != nil {
			return nil, err
		}
		maps.Copy(out, more)
	}
	for _, name := range s.Required {
		value, err := m.value(name, s.Properties[name], depth+1)
		if err != nil {
			return nil, err
		}
		out[name] = value
	}
	return out, nil
}

func (m *maker) value(name string, raw json.RawMessage, depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("the schema of %s nests too deep", show.Name(name))
	}
	var s schema
	if len(raw) > 0 && raw[0] == '{' {
		if err := json.Unmarshal(raw, &s); err != nil {
			return nil, fmt.Errorf("the schema of %s cannot be read", show.Name(name))
		}
	}
	if s.Ref != "" {
		def, ok := m.defs[s.Ref]
		if !ok {
			return nil, fmt.Errorf("the schema of %s refers to %s", show.Name(name), show.Name(s.Ref))
		}
		return m.value(name, def, depth+1)
	}
	switch {
	case s.Const != nil:
		return s.Const, nil
	case s.Default != nil && string(s.Default) != "null":
		return s.Default, nil
	case len(s.Examples) > 0:
		return s.Examples[0], nil
	case len(s.Enum) > 0:
		return s.Enum[0], nil
	}
	for _, choice := range slices.Concat(s.AnyOf, s.OneOf) {
		if v, err := m.value(name, choice, depth+1); err == nil && v != nil {
			return v, nil
		}
	}
	return m.byType(name, &s, depth)
}

func (m *maker) byType(name string, s *schema, depth int) (any, error) {
	switch kind(s) {
	case "object":
		return m.object(s, depth)
	case "array":
		list := []any{}
		for range max(s.MinItems, 1) {
			v, err := m.value(strings.TrimSuffix(name, "s"), s.Items, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
			if len(list) >= maxDepth {
				return nil, fmt.Errorf("%s wants %d things", show.Name(name), s.MinItems)
			}
		}
		return list, nil
	case "integer", "number":
		return number(s), nil
	case "boolean":
		return false, nil
	case "null":
		return nil, nil
	}
	if s.Pattern != "" {
		return nil, fmt.Errorf("%s must match a pattern", show.Name(name))
	}
	return m.text(name, s)
}

// kind returns the type of a value: the first that is not null, or "" if the schema does not say.
func kind(s *schema) string {
	switch t := s.Type.(type) {
	case string:
		return t
	case []any:
		for _, one := range t {
			if text, ok := one.(string); ok && text != "null" {
				return text
			}
		}
	}
	if s.Properties != nil {
		return "object"
	}
	return ""
}

func number(s *schema) float64 {
	n := 1.0
	switch {
	case s.Minimum != nil:
		n = max(n, *s.Minimum)
	case s.Above != nil:
		n = max(n, *s.Above+1)
	}
	if s.Maximum != nil {
		n = min(n, *s.Maximum)
	}
	return n
}

// The words of a name that say what a text is.
var (
	directoryWords = []string{"dir", "directory", "folder", "cwd", "root", "workspace", "repo", "repository", "project"}
	fileWords      = []string{"file", "filename", "filepath"}
	addressWords   = []string{"url", "uri", "link", "endpoint"}
	hostWords      = []string{"host", "hostname", "domain"}
)

func (m *maker) text(name string, s *schema) (string, error) {
	words := splitWords(name)
	has := func(any []string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(any, w) })
	}
	host := "example.com"
	if len(m.place.Hosts) > 0 {
		host = m.place.Hosts[0]
	}
	text := "a"
	switch {
	case s.Format == "uri" || s.Format == "url" || has(addressWords):
		text = "https://" + host + "/"
	case s.Format == "date":
		text = "2020-01-01"
	case s.Format == "date-time":
		text = "2020-01-01T00:00:00Z"
	case s.Format == "email":
		text = "a@" + host
	case s.Format == "uuid":
		text = "00000000-0000-4000-8000-000000000000"
	case has(hostWords):
		text = host
	case has(fileWords), has([]string{"path"}) && !has(directoryWords) && m.readsFile && m.place.File != "":
		if text = filepath.Join(m.place.Workspace, m.place.File); m.place.Workspace == "" {
			return "", fmt.Errorf("%s is a file, and there is no workspace", show.Name(name))
		}
	case has(directoryWords), has([]string{"path"}):
		if text = m.place.Workspace; text == "" {
			return "", fmt.Errorf("%s is a directory, and there is no workspace", show.Name(name))
		}
	default:
		text = strings.Repeat("a", min(max(s.MinLength, 1), 1000))
	}
	if s.MaxLength != nil && len(text) > *s.MaxLength {
		return "", fmt.Errorf("%s may have no more than %d letters", show.Name(name), *s.MaxLength)
	}
	return text, nil
}

// splitWords returns the words of a name, in small letters: of filePath and of file_path they are file and
// path.
func splitWords(name string) []string {
	var b strings.Builder
	for i, r := range name {
		if i > 0 && 'A' <= r && r <= 'Z' {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
	}
	return strings.FieldsFunc(strings.ToLower(b.String()), func(r rune) bool { return !('a' <= r && r <= 'z' || '0' <= r && r <= '9') })
}
