package callcmd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// Tool is a tool as the server lists it.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema"`
	Annotations struct {
		ReadOnly *bool `json:"readOnlyHint"`
	} `json:"annotations"`
	raw json.RawMessage
}

// UnmarshalJSON also keeps the text.
func (t *Tool) UnmarshalJSON(text []byte) error {
	type members Tool
	t.raw = bytes.Clone(text)
	return json.Unmarshal(text, (*members)(t))
}

func (t Tool) schema() *schema {
	var s struct {
		schema
		Properties json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(t.InputSchema, &s) != nil {
		return nil // the server decides
	}
	json.Unmarshal(s.Properties, &s.schema.Properties) // without a table, they are none
	s.order = keysOf(s.Properties)
	return &s.schema
}

// parameters returns the arguments of a tool with their types, the optional ones in brackets.
func (t Tool) parameters() (all []string) {
	s := t.schema()
	if s == nil {
		return nil
	}
	var optional []string
	for _, name := range s.order {
		text := show.Name(name)
		if types := s.types(name); len(types) > 0 {
			text += ": " + show.Line(strings.Join(types, " or "))
		}
		if slices.Contains(s.Required, name) {
			all = append(all, text)
		} else {
			optional = append(optional, "["+text+"]")
		}
	}
	return append(all, optional...)
}

// keysOf returns the keys of a JSON object in their order.
func keysOf(object json.RawMessage) (keys []string) {
	d := json.NewDecoder(bytes.NewReader(object))
	if begin, err := d.Token(); err != nil || begin != json.Delim('{') {
		return nil
	}
	for d.More() {
		key, err := d.Token()
		var value json.RawMessage
		if name, ok := key.(string); !ok || err != nil || d.Decode(&value) != nil {
			return keys
		} else if !slices.Contains(keys, name) {
			keys = append(keys, name)
		}
	}
	return keys
}

// firstSentence returns the first sentence of a tool's description, which others may have written as
// one long line.
func (t Tool) firstSentence() string {
	line, _, _ := strings.Cut(strings.TrimSpace(t.Description), "\n")
	if first, _, more := strings.Cut(line, ". "); more {
		line = first + "."
	}
	return show.Line(line)
}

// printTools writes the list of tools.
func (r *outcome) printTools(c terminal.Console, format string) error {
	r.printRefused(c)
	if format == "json" {
		r.Tools = []json.RawMessage{}
		for _, t := range r.list {
			r.Tools = append(r.Tools, t.raw)
		}
		return r.printJSON(c, nil)
	}
	var b strings.Builder
	about := ""
	if r.About != "" {
		about = " (" + show.Name(r.About) + ")"
	}
	fmt.Fprintf(&b, "%s%s offers %s\n\n", show.Name(r.Server), about, cli.Plural(len(r.list), "tool"))
	for _, t := range r.list {
		line := c.Paint(terminal.Bold, show.Name(t.Name))
		if p := t.parameters(); len(p) > 0 {
			line += "  " + strings.Join(p, ", ")
		}
		b.WriteString(line + "\n")
		if text := t.firstSentence(); text != "" {
			b.WriteString(c.Quoted(text) + "\n")
		}
	}
	for _, s := range r.off {
		if !s.On {
			b.WriteString(s.Name() + "  (off)\n")
		}
	}
	c.PrintText(b.String())
	return nil
}

// unknownTool returns the error for a tool that a server does not list.
func unknownTool(server, name string, tools []Tool) error {
	var known, shown []string
	for _, t := range tools {
		known, shown = append(known, t.Name), append(shown, show.Name(t.Name))
	}
	text := fmt.Sprintf("%s has no tool %s", show.Name(server), show.Name(name))
	if near := config.Suggest(name, known); near != "" {
		text += fmt.Sprintf(", did you mean %s?", show.Name(near))
	}
	if len(shown) == 0 {
		return terminal.UsageErrorf("%s: it lists no tools", text)
	}
	return terminal.UsageErrorf("%s\nits tools: %s", text, strings.Join(shown, ", "))
}
