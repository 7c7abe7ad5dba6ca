package config

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	tomlfile "github.com/mcp-jail/mcp-jail/internal/toml"
)

// schemaURL is where the schema of the newest release lies. It stays the same: a later schema accepts what an earlier
// one does.
const schemaURL = "https://raw.githubusercontent.com/mcp-jail/mcp-jail/main/docs/mcp-jail.schema.json"

// TestSchema compares the JSON Schema in the repository, which releases have for editors, with the tables of the
// decoder. With -update it writes the file. It is of draft 7, which the editors' extensions for TOML read.
func TestSchema(t *testing.T) {
	testkit.Golden(t, "../../../docs/mcp-jail.schema.json", schemaText(t))
}

func whole() value { return value{Kind: tomlfile.Table, Keys: (&Config{}).keys()} }

func schemaText(t *testing.T) string {
	g := generator{definitions: object{}}
	top := g.table(whole(), "")
	top["$schema"] = "http://json-schema.org/draft-07/schema#"
	top["$id"] = schemaURL
	top["title"] = "Configuration of mcp-jail"
	top["definitions"] = g.definitions
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	testkit.Must(t, e.Encode(top))
	return b.String()
}

// tableTexts are the descriptions of tables.
var tableTexts = map[string]string{
	"":         "A configuration file of mcp-jail, which starts MCP servers in a jail.",
	"defaults": "What holds for every server that does not say otherwise. It cannot grant files, hosts or programs.",
	"server":   "One MCP server: how it is started, and what it may touch.",
	"tool":     "One tool of a server with stateful = false. The name \"*\" stands for every tool without a table of its own.",
	"access":   "What the server may touch. The table replaces the default policy, which grants the workspace, unless it has denials, sensitive_paths or workspace alone.",
	"limits":   "What the server may use: all its processes together, but open_files counts for each process, file_size_mb for each file and message_mb for each message.",
	"fs":       "A rule for one path and everything below it. Rights of all rules add up, and deny takes away.",
	"net":      "A rule for one host. Hosts that no rule allows cannot be reached.",
	"inbound":  "A port on which the host reaches the server.",
	"env":      "A rule for environment variables. Variables that no rule forwards are not set, except for a minimal set such as PATH.",
	"command":  "A program that the server may start, with which arguments and variables. Several tables for one program add up.",
	"secret":   "A secret that mcp-jail puts into requests to this host. The server sees a placeholder.",
}

type object map[string]any

// A generator collects the definitions of tables by their names.
type generator struct{ definitions object }

// of returns the schema of a value at a key.
func (g *generator) of(v value, at string) object {
	switch {
	case v.Any != nil:
		return g.either(v.Any, at)
	case v.Keys != nil:
		g.definitions[at] = g.table(v, at)
		return object{"$ref": "#/definitions/" + at}
	}
	out := object{"type": jsonTypes[v.Kind]}
	switch v.Kind {
	case tomlfile.Table:
		out["additionalProperties"] = g.of(v.Names("NAME"), strings.TrimSuffix(at, "s"))
		if v.Form.Pattern != "" {
			out["propertyNames"] = object{"pattern": v.Form.Pattern}
		}
	case tomlfile.Array:
		out["items"] = g.of(v.Items(), at)
		if v.Empty != "" {
			out["minItems"] = 1
		}
	case tomlfile.Integer:
		if out["minimum"], out["maximum"] = v.Low, v.High; v.Low == v.High {
			out = object{"enum": []int64{v.Low}}
		}
	case tomlfile.String:
		switch {
		case v.Words != nil:
			out["enum"] = v.Words
		case v.Form.Pattern != "":
			out["pattern"] = v.Form.Pattern
		case v.Empty != "":
			out["minLength"] = 1
		}
	}
	return out
}

var jsonTypes = map[tomlfile.Kind]string{tomlfile.Table: "object", tomlfile.Array: "array", tomlfile.String: "string", tomlfile.Integer: "integer", tomlfile.Bool: "boolean"}

func (g *generator) table(v value, name string) object {
	properties := object{}
	var required []string
	for _, k := range v.Keys {
		below := k.Name
		if below == "value" {
			below = name // the list itself: its items are described under the list's key
		}
		s := g.of(k.Value, below)
		if ref := s["$ref"]; ref != nil { // draft 7 ignores the members beside a $ref
			s = object{"allOf": []object{{"$ref": ref}}}
		}
		if s["description"] = k.Text; k.Preset != nil {
			s["default"] = k.Preset
		}
		properties[k.Name] = s
		if k.Needs != "" {
			required = append(required, k.Name)
		}
	}
	out := object{"type": "object", "additionalProperties": false, "properties": properties}
	if required != nil {
		out["required"] = required
	}
	if text := tableTexts[name]; text != "" {
		out["description"] = text
	}
	return out
}

// either returns the schema of alternatives. If they are of different types, it merges them into one schema, because
// each keyword applies to one type only. An editor can then tell which part is wrong.
func (g *generator) either(all []value, at string) object {
	if all[0].Kind == all[1].Kind || all[1].Words != nil { // enum is for every type
		return object{"anyOf": []object{g.of(all[0], at), g.of(all[1], at)}}
	}
	out := object{}
	types := []string{}
	for _, v := range all {
		types = append(types, jsonTypes[v.Kind])
		if v.Keys == nil {
			maps.Copy(out, g.of(v, at))
			continue
		}
		maps.Copy(out, g.table(v, at))
		delete(out, "description")
	}
	out["type"] = types
	return out
}

// places calls visit for each value of a table and below it, with its dotted key and a function that builds the table
// with a value there.
func places(v value, name string, at func(any) any, visit func(name string, v value, at func(any) any)) {
	visit(name, v, at)
	for _, a := range v.Any {
		places(a, name, at, visit)
	}
	for _, k := range v.Keys {
		places(k.Value, name+"."+k.Name, func(below any) any {
			table := map[string]any{k.Name: below}
			if v.Keys[len(v.Keys)-1].Name == "deny" && k.Name != "deny" {
				table["read"] = cmp.Or[any](table["read"], true)
			}
			for _, other := range v.Keys {
				if other.Needs != "" && table[other.Name] == nil {
					table[other.Name] = map[tomlfile.Kind]any{tomlfile.Bool: true, tomlfile.Integer: int64(80), tomlfile.Array: []any{}}[other.Value.Kind]
					if table[other.Name] == nil {
						table[other.Name] = append(slices.Clone(other.Value.Words), "A")[0]
					}
				}
			}
			return at(table)
		}, visit)
	}
	if v.Names != nil {
		places(v.Names("n"), name+".n", func(below any) any { return at(map[string]any{"n": below}) }, visit)
	}
	if v.Items != nil {
		places(v.Items(), name+"[]", func(below any) any { return at([]any{below}) }, visit)
	}
}

// TestSchemaAgrees reads many values at every place, and asks the schema about the same ones. The schema refuses no
// value that the decoder accepts, and the decoder refuses more only where no schema can tell. Every key has a text.
func TestSchemaAgrees(t *testing.T) {
	beyond := regexp.MustCompile(`is not a host name|the command of the secret A is empty|says nothing|needs a port|deny and other keys|is not known; this program`)
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(schemaText(t)))
	testkit.Must(t, err)
	c := jsonschema.NewCompiler()
	testkit.Must(t, c.AddResource(schemaURL, doc))
	schema, err := c.Compile(schemaURL)
	testkit.Must(t, err)
	accepted, refused := 0, 0
	places(whole(), "", func(v any) any { return v }, func(name string, v value, at func(any) any) {
		for _, k := range v.Keys {
			if k.Text == "" {
				t.Errorf("%s.%s has no text", name, k.Name)
			}
		}
		good := 0
		for _, x := range samples(v) {
			doc, isTable := at(x).(map[string]any)
			if !isTable {
				continue
			}
			text, err := toml.Marshal(doc)
			testkit.Must(t, err)
			plain, err := json.Marshal(doc)
			testkit.Must(t, err)
			parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(plain))
			testkit.Must(t, err)
			_, problems := decodeLayer(text, "f")
			switch invalid := schema.Validate(parsed); {
			case invalid == nil && len(problems) == 0:
				good++
				accepted++
			case invalid != nil && len(problems) > 0:
				refused++
			case invalid != nil:
				t.Errorf("%s = %#v is refused by the schema alone: %v", name, x, invalid)
			case !beyond.MatchString(problems.Error()):
				t.Errorf("%s = %#v is refused by the decoder alone: %v", name, x, problems)
			}
		}
		if good == 0 {
			t.Errorf("%s: no value was accepted", name)
		}
	})
	if accepted < 500 || refused < 3000 {
		t.Errorf("only %d values were accepted, and %d refused", accepted, refused)
	}
}

// samples are values of every type, and those at the bounds of a value and beyond them.
func samples(v value) []any {
	out := []any{
		int64(-1), int64(0), int64(1) << 40, 1.5, true, false, "", "A", "no word of any list", "~x", "a b", "A*B", "/A", "line\nbreak",
		[]any{}, []any{"A"}, []any{""}, []any{1}, []any{[]any{}}, []any{[]any{"A"}}, []any{[]any{1}}, []any{"A", []any{"A"}}, []any{map[string]any{}},
		map[string]any{}, map[string]any{"unknown": 1}, map[string]any{"strategy": "append"}, map[string]any{"value": []any{}}, map[string]any{"strategy": "append", "value": []any{}},
		v.Low - 1, v.Low, v.High, v.High + 1,
		map[string]any{"path": "A", "read": true}, map[string]any{"host": "A", "allow": true}, map[string]any{"name": "A", "read": true}, map[string]any{"port": 80}, map[string]any{"env": "A"},
	}
	for _, word := range v.Words {
		out = append(out, word)
	}
	return out
}

// TestPresets tests that a server has the same policy with the preset of a setting as without it, and another one with
// another value.
func TestPresets(t *testing.T) {
	for _, set := range settings {
		policyWith := func(value string) string {
			beside := map[string]string{"warm": "stateful = false\n", "undo_total_mb": "undo = \"session\"\n"}[set.Name]
			if value != "" {
				value = set.Name + " = " + value + "\n"
			}
			p, err := decoded(t, "[servers.s]\ncommand = \"x\"\n"+beside+value).Policy("s", "")
			testkit.Must(t, err)
			p.Settings = nil
			return fmt.Sprintf("%+v", *p)
		}
		other := "true"
		for _, word := range set.Value.Words {
			if word != set.Preset {
				other = `"` + word + `"`
			}
		}
		if set.Value.Kind == tomlfile.Integer {
			other = fmt.Sprint(set.Value.Low + 1)
		}
		without := policyWith("")
		if got := policyWith(set.presetText()); got != without {
			t.Errorf("%s = %s is not the default:\n%s\nwithout it:\n%s", set.Name, set.presetText(), got, without)
		}
		if policyWith(other) == without {
			t.Errorf("control: %s = %s changes nothing", set.Name, other)
		}
	}
}
