package callcmd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/show"
)

// maxArguments bounds the bytes of the arguments of a tool.
const maxArguments = 64 << 20

// readArguments reads the arguments from the command line or from stdin.
func (k *callCmd) readArguments(c terminal.Console) (a arguments, err error) {
	words := k.words
	switch {
	case k.tool == "":
		return a, nil
	case len(words) == 1 && words[0] == "-", len(words) == 0 && !c.InputIsTerminal():
		waiting := time.AfterFunc(time.Second, func() { c.Sayf("waiting for the arguments on stdin; for none, type {} after the tool ...") })
		defer waiting.Stop()
		text, err := io.ReadAll(io.LimitReader(c.Input(), maxArguments+1))
		if err != nil {
			return a, fmt.Errorf("the arguments of the tool cannot be read from stdin: %w", err)
		}
		if len(text) > maxArguments {
			return a, terminal.UsageErrorf("the arguments of the tool have more than %d MiB", maxArguments>>20)
		}
		if len(words) == 0 && len(bytes.TrimSpace(text)) == 0 { // as of a job without input
			text = []byte("{}")
		}
		a.json, err = object(text, "stdin")
		return a, err
	case len(words) == 0:
		a.json = json.RawMessage("{}")
	case strings.HasPrefix(strings.TrimSpace(words[0]), "{") || len(words) == 1 && !strings.Contains(words[0], "="):
		if len(words) > 1 {
			return a, terminal.UsageErrorf("unexpected argument %s: the JSON is one argument, so put it in single quotation marks", show.Name(words[1]))
		}
		a.json, err = object([]byte(words[0]), "the arguments")
	default:
		for _, w := range words {
			if name, _, ok := strings.Cut(w, "="); !ok || name == "" {
				return a, terminal.UsageErrorf("%s is not NAME=VALUE: give one JSON object, or NAME=VALUE for each argument of the tool", show.Name(w))
			}
		}
		a.pairs = words
	}
	return a, err
}

// object checks that a text is one JSON object, and returns it. place says where it is from.
func object(text []byte, place string) (json.RawMessage, error) {
	text = bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\ufeff")))
	var value json.RawMessage
	err := json.Unmarshal(text, &value)
	switch {
	case err != nil:
		return nil, terminal.UsageErrorf("%s: not a JSON object, such as {\"path\": \"/tmp\"}: %s", place, err)
	case !utf8.Valid(text):
		return nil, terminal.UsageErrorf("%s: not JSON: it is not UTF-8", place)
	case len(value) == 0 || value[0] != '{':
		return nil, terminal.UsageErrorf("%s: a tool takes a JSON object, such as {\"path\": \"/tmp\"}", place)
	}
	var flat bytes.Buffer // a message is one line
	if err := json.Compact(&flat, value); err != nil {
		return nil, err
	}
	return flat.Bytes(), nil
}

// schema is what a tool says of its arguments.
type schema struct {
	Required   []string                   `json:"required"`
	Properties map[string]json.RawMessage `json:"properties"`
	order      []string                   // the names of Properties as the tool has them
}

// types returns the JSON types that an argument may have, as far as the tool says so.
func (s *schema) types(name string) (types []string) {
	var p struct {
		Type any `json:"type"`
	}
	if s == nil || json.Unmarshal(s.Properties[name], &p) != nil {
		return nil
	}
	switch t := p.Type.(type) {
	case string:
		types = []string{t}
	case []any:
		for _, one := range t {
			if text, ok := one.(string); ok {
				types = append(types, text)
			}
		}
	}
	return types
}

// object returns the arguments as a JSON object. Of NAME=VALUE, the value is text if the tool wants
// text, and else JSON if it is that.
func (a arguments) object(s *schema) (json.RawMessage, error) {
	if a.pairs == nil {
		return a.json, nil
	}
	all := map[string]any{}
	for _, pair := range a.pairs {
		name, value, _ := strings.Cut(pair, "=")
		if _, twice := all[name]; twice {
			return nil, terminal.UsageErrorf("%s is given twice", show.Name(name))
		}
		types := s.types(name)
		var parsed json.RawMessage
		switch isText := slices.Contains(types, "string"); {
		case !isText && json.Unmarshal([]byte(value), &parsed) == nil:
			all[name] = parsed
		case !isText && len(types) > 0:
			return nil, terminal.UsageErrorf("%s: the tool wants %s, and %s is none", show.Name(name), strings.Join(types, " or "), show.Quote(value))
		default:
			all[name] = value
		}
	}
	return json.Marshal(all)
}
