package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// schemaURL is where the schema of the newest release lies. It stays the same: a later schema accepts what an earlier
// one does.
const schemaURL = "https://raw.githubusercontent.com/mcp-jail/mcp-jail/main/docs/mcp-jail.schema.json"

// TestSchema compares the JSON Schema in the repository, which releases have for editors, with the tables of the
// decoder. With -update it writes the file. It is of draft 7, which the editors' extensions for TOML read.
func TestSchema(t *testing.T) {
	testkit.Golden(t, "../../../docs/mcp-jail.schema.json", schemaText(t))
}

func schemaText(t *testing.T) string {
	g := generator{t, object{}}
	top := g.table(value{Kind: show.Table, Keys: (&Config{}).keys()}, "")
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
type generator struct {
	t           *testing.T
	definitions object
}

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
	case show.Table:
		out["additionalProperties"] = g.of(v.Names("NAME"), strings.TrimSuffix(at, "s"))
		if v.Form.Pattern != "" {
			out["propertyNames"] = object{"pattern": v.Form.Pattern}
		}
	case show.Array:
		out["items"] = g.of(v.Items(), at)
		if v.Empty != "" {
			out["minItems"] = 1
		}
	case show.Integer:
		if out["minimum"], out["maximum"] = v.Low, v.High; v.Low == v.High {
			out = object{"enum": []int64{v.Low}}
		}
	case show.String:
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

var jsonTypes = map[show.Kind]string{show.Table: "object", show.Array: "array", show.String: "string", show.Integer: "integer", show.Bool: "boolean"}

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
		if properties[k.Name] = s; k.Text == "" {
			g.t.Errorf("%s.%s has no text", name, k.Name)
		}
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
		other := fmt.Sprint(set.Preset != true)
		for _, word := range set.Value.Words {
			if word != set.Preset {
				other = `"` + word + `"`
			}
		}
		if set.Value.Kind == show.Integer {
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

// TestReference tests that docs/reference.md has the type and the default of each setting, and docs/policy.md
// those of each limit.
func TestReference(t *testing.T) {
	page, limits := testkit.ReadFile(t, "../../docs/reference.md"), testkit.ReadFile(t, "../../docs/policy.md")
	for _, set := range settings {
		kind, preset := "bool", "`"+set.presetText()+"`"
		switch {
		case strings.HasPrefix(set.Name, limitsTable):
			row := fmt.Sprintf("| `%s` | %s | %d – %d | ", strings.TrimPrefix(set.Name, limitsTable), set.presetText(), set.Value.Low, set.Value.High)
			if !strings.Contains(limits, row) {
				t.Errorf("docs/policy.md has no row %s", row)
			}
			continue
		case set.Value.Words != nil:
			kind = "`\"" + strings.Join(set.Value.Words, "\"`, `\"") + "\"`"
		case set.Value.Kind == show.Integer:
			kind, preset = fmt.Sprintf("%d – %d", set.Value.Low, set.Value.High), set.presetText()
			if strings.HasSuffix(set.Name, "_secs") {
				kind = "seconds, " + kind
			}
		}
		if row := fmt.Sprintf("| `%s` | %s | %s | ", set.Name, kind, preset); !strings.Contains(page, row) {
			t.Errorf("docs/reference.md has no row %s", row)
		}
	}
}
