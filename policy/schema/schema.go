// Package schema writes the JSON Schema of the configuration, for editors. [Text] makes it from
// the shape that the decoder itself describes ([config.Describe]), so keys, types, bounds
// and accepted words are those of the decoder. This package adds only what a person reads:
// descriptions and defaults.
//
// docs/mcp-jail.schema.json is that text, which releases have: a test writes it (-update) and
// compares. No program has this package. The schema is of draft 7, which the editors' extensions for TOML read.
//
// # Limits
//
// The schema describes one file. It refuses no file that the decoder accepts. The decoder
// refuses more: keys that contradict each other, such as methods with scheme = "tcp"; texts
// that a regular expression cannot tell, such as broken host names; a server without a
// command; and names of presets that do not exist.
package schema

import (
	"bytes"
	"encoding/json"
	"maps"

	"github.com/mcp-jail/mcp-jail/policy/config"
)

// URL is where the schema of the newest release lies. It stays the same: a later schema accepts
// what an earlier one does.
const URL = "https://raw.githubusercontent.com/mcp-jail/mcp-jail/main/docs/mcp-jail.schema.json"

// Line is the first line of a configuration file, which tells editors where the schema is.
const Line = "#:schema " + URL + "\n"

// Text returns the schema.
func Text() ([]byte, error) {
	g := generator{definitions: object{}}
	top := g.table(config.Describe(), "")
	top["$schema"] = "http://json-schema.org/draft-07/schema#"
	top["$id"] = URL
	top["title"] = "Configuration of mcp-jail"
	top["definitions"] = g.definitions
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(top); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// An object is an object of JSON, whose members are written in the order of their names.
type object map[string]any

// A generator collects the definitions of tables by the names that the function entries uses.
type generator struct{ definitions object }

func (g *generator) of(s *config.Shape, key string) object {
	switch {
	case s.Any != nil:
		return g.either(s.Any, key)
	case s.Keys != nil:
		g.definitions[key] = g.table(s, key)
		return object{"$ref": "#/definitions/" + key}
	}
	out := object{"type": s.Type}
	switch s.Type {
	case "object":
		out["additionalProperties"] = g.of(s.Names, entryName(key))
		if s.Like != "" {
			out["propertyNames"] = object{"pattern": s.Like}
		}
	case "array":
		out["items"] = g.of(s.Items, key)
		if s.NotEmpty {
			out["minItems"] = 1
		}
	case "string":
		addText(out, s)
	case "integer":
		if out["minimum"], out["maximum"] = s.Low, s.High; s.Low == s.High {
			out = object{"enum": []int64{s.Low}}
		}
	}
	return out
}

func addText(out object, s *config.Shape) {
	switch {
	case s.Words != nil:
		out["enum"] = s.Words
	case s.Like != "":
		out["pattern"] = s.Like
	case s.NotEmpty:
		out["minLength"] = 1
	}
}

// entryName returns the name of one entry of a table whose keys the user chooses: "server" for
// "servers".
func entryName(table string) string { return table[:len(table)-1] }

func (g *generator) table(s *config.Shape, name string) object {
	properties := object{}
	for child, shape := range s.Keys {
		below := child
		if child == "value" {
			below = name // the list itself: its items are described under the list's key
		}
		properties[child] = describe(g.of(shape, below), lookUp(name, child))
	}
	out := object{"type": "object", "additionalProperties": false, "properties": properties}
	if s.Required != nil {
		out["required"] = s.Required
	}
	if text := tables[name]; text != "" {
		out["description"] = text
	}
	return out
}

// either returns the schema of alternatives. If they are of different types, it merges them into
// one schema, because each keyword applies to one type only. An editor can then tell which part
// is wrong.
func (g *generator) either(all []*config.Shape, key string) object {
	if all[0].Type == all[1].Type || all[1].Words != nil { // enum is for every type
		return object{"anyOf": []object{g.of(all[0], key), g.of(all[1], key)}}
	}
	out := object{}
	types := []string{}
	for _, s := range all {
		types = append(types, s.Type)
		if s.Keys == nil {
			maps.Copy(out, g.of(s, key))
			continue
		}
		maps.Copy(out, g.table(s, key))
		delete(out, "description")
	}
	out["type"] = types
	return out
}

func describe(schema object, e entry) object {
	if ref := schema["$ref"]; ref != nil { // draft 7 ignores the members beside a $ref
		schema = object{"allOf": []object{{"$ref": ref}}}
	}
	schema["description"] = e.text
	if e.preset != nil {
		schema["default"] = e.preset
	}
	return schema
}
