package learncmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
)

// schema is the part of a JSON schema from which a value is made.
type schema struct {
	Type       any                        `json:"type"`
	Enum       []json.RawMessage          `json:"enum"`
	Default    json.RawMessage            `json:"default"`
	Examples   []json.RawMessage          `json:"examples"`
	Properties map[string]json.RawMessage `json:"properties"`
	Required   []string                   `json:"required"`
	Items      json.RawMessage            `json:"items"`
	Minimum    float64                    `json:"minimum"`
	Maximum    *float64                   `json:"maximum"`
	Format     string                     `json:"format"`
	Pattern    string                     `json:"pattern"`
	AnyOf      []json.RawMessage          `json:"anyOf"`
	Ref        string                     `json:"$ref"`
	Defs       map[string]json.RawMessage `json:"$defs"`
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
	for name, def := range top.Defs {
		m.defs["#/$defs/"+name] = def
	}
	value, err := m.object(&top, 0)
	if err != nil {
		return nil, err
	}
	return json.Marshal(value)
}

func (m *maker) object(s *schema, depth int) (map[string]any, error) {
	out := map[string]any{}
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
	switch {
	case s.Ref != "" && m.defs[s.Ref] == nil:
		return nil, fmt.Errorf("the schema of %s refers to %s", show.Name(name), show.Name(s.Ref))
	case s.Ref != "":
		return m.value(name, m.defs[s.Ref], depth+1)
	case s.Default != nil && string(s.Default) != "null":
		return s.Default, nil
	case len(s.Examples) > 0:
		return s.Examples[0], nil
	case len(s.Enum) > 0:
		return s.Enum[0], nil
	}
	for _, choice := range s.AnyOf {
		if v, err := m.value(name, choice, depth+1); err == nil && v != nil {
			return v, nil
		}
	}
	switch kind(&s) {
	case "object":
		return m.object(&s, depth)
	case "array":
		v, err := m.value(strings.TrimSuffix(name, "s"), s.Items, depth+1)
		return []any{v}, err
	case "integer", "number":
		n := max(1, s.Minimum)
		if s.Maximum != nil {
			n = min(n, *s.Maximum)
		}
		return n, nil
	case "boolean":
		return false, nil
	case "null":
		return nil, nil
	}
	return m.text(name, &s)
}

// kind returns the type of a value: the first of several, or "" if the schema does not say.
func kind(s *schema) string {
	if list, ok := s.Type.([]any); ok && len(list) > 0 {
		s.Type = list[0]
	}
	text, _ := s.Type.(string)
	if text == "" && s.Properties != nil {
		return "object"
	}
	return text
}

// The words of a name that say what a text is.
var (
	directoryWords = []string{"dir", "directory", "folder", "cwd", "root", "workspace", "repo", "repository", "project"}
	fileWords      = []string{"file", "filename", "filepath"}
)

func (m *maker) text(name string, s *schema) (string, error) {
	words := splitWords(name)
	has := func(any ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(any, w) })
	}
	host := "example.com"
	if len(m.place.Hosts) > 0 {
		host = m.place.Hosts[0]
	}
	isFile := has(fileWords...) || has("path") && !has(directoryWords...) && m.readsFile && m.place.File != ""
	switch {
	case s.Format == "uri" || s.Format == "url" || has("url", "uri", "link", "endpoint"):
		return "https://" + host + "/", nil
	case s.Pattern != "" || s.Format != "":
		return "", fmt.Errorf("%s must match a pattern", show.Name(name))
	case has("host", "hostname", "domain"):
		return host, nil
	case !isFile && !has(directoryWords...) && !has("path"):
		return "a", nil
	case m.place.Workspace == "":
		return "", fmt.Errorf("%s is a path, and there is no project folder", show.Name(name))
	case isFile:
		return filepath.Join(m.place.Workspace, m.place.File), nil
	}
	return m.place.Workspace, nil
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
