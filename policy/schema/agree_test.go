package schema

import (
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
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// compile returns the schema as an independent library reads it.
func compile(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := Text()
	testkit.Must(t, err)
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	testkit.Must(t, err)
	c := jsonschema.NewCompiler()
	testkit.Must(t, c.AddResource(URL, doc))
	s, err := c.Compile(URL)
	testkit.Must(t, err)
	return s
}

// validate returns the error with which the schema refuses a document, or nil.
func validate(t *testing.T, s *jsonschema.Schema, doc map[string]any) error {
	t.Helper()
	b, err := json.Marshal(doc)
	testkit.Must(t, err)
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(string(b)))
	testkit.Must(t, err)
	return s.Validate(v)
}

// decode returns the error with which the decoder refuses a document, or nil.
func decode(t *testing.T, doc map[string]any) error {
	t.Helper()
	b, err := toml.Marshal(doc)
	testkit.Must(t, err)
	_, err = config.Decode(b, "f")
	return err
}

// A place is where a value may stand. at builds a document with a value there, and with what the
// decoder needs beside it.
type place struct {
	name  string
	about object // its description and default
	shape object
	at    func(v any) map[string]any
}

// A tree is a schema, with the definitions that it refers to.
type tree struct {
	definitions map[string]object
	places      []place
}

// plant reads the schema and walks it.
func plant(t *testing.T) *tree {
	t.Helper()
	text, err := Text()
	testkit.Must(t, err)
	var top struct{ Definitions map[string]object }
	var root object
	testkit.Must(t, json.Unmarshal(text, &top))
	testkit.Must(t, json.Unmarshal(text, &root))
	tr := &tree{definitions: top.Definitions}
	tr.walk("", root, func(v any) map[string]any { m, _ := v.(map[string]any); return m })
	return tr
}

// resolve follows a reference.
func (tr *tree) resolve(s object) object {
	if all, ok := s["allOf"].([]any); ok {
		s = all[0].(map[string]any)
	}
	if ref, ok := s["$ref"].(string); ok {
		return tr.definitions[strings.TrimPrefix(ref, "#/definitions/")]
	}
	return s
}

// walk adds a place and those below it.
func (tr *tree) walk(name string, s object, at func(v any) map[string]any) {
	about := s
	if s = tr.resolve(s); name != "" {
		tr.places = append(tr.places, place{name, about, s, at})
	}
	if some, ok := s["anyOf"].([]any); ok {
		for _, one := range some {
			alternative := maps.Clone(one.(map[string]any))
			alternative["description"] = about["description"]
			tr.walk(name, alternative, at)
		}
		return
	}
	properties, _ := s["properties"].(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(properties)) {
		tr.walk(name+"."+key, properties[key].(map[string]any), func(v any) map[string]any {
			table := map[string]any{key: v}
			tr.complete(table, s)
			beside(name, key, table)
			return at(table)
		})
	}
	if below, ok := s["additionalProperties"].(map[string]any); ok {
		key := "*"
		if !matches(s["propertyNames"], key) {
			key = "n"
		}
		tr.walk(name+"."+key, below, func(v any) map[string]any { return at(map[string]any{key: v}) })
	}
	if items, ok := s["items"].(map[string]any); ok {
		tr.walk(name+"[]", items, func(v any) map[string]any { return at([]any{v}) })
	}
}

func matches(names any, key string) bool {
	if names == nil {
		return true
	}
	return regexp.MustCompile(names.(map[string]any)["pattern"].(string)).MatchString(key)
}

// complete adds the keys that a table must have.
func (tr *tree) complete(table map[string]any, s object) {
	required, _ := s["required"].([]any)
	for _, key := range required {
		if _, ok := table[key.(string)]; !ok {
			table[key.(string)] = tr.sample(tr.resolve(s["properties"].(map[string]any)[key.(string)].(map[string]any)))
		}
	}
}

// sample returns a value that a schema accepts.
func (tr *tree) sample(s object) any {
	switch s["type"] {
	case "array":
		return []any{}
	case "boolean":
		return true
	case "integer":
		return int64(s["minimum"].(float64))
	}
	if words, ok := s["enum"].([]any); ok {
		return words[0]
	}
	return "A"
}

// beside adds to a table the keys that the decoder requires beside a key. The schema does not
// require them.
func beside(table, key string, to map[string]any) {
	add := func(key string, v any) {
		if _, ok := to[key]; !ok {
			to[key] = v
		}
	}
	switch {
	case table == ".servers.n":
		if add("command", "x"); key == "tools" {
			add("stateful", false)
		}
	case strings.HasSuffix(table, ".net[]"), strings.HasSuffix(table, ".net.value[]"):
		if key == "scheme" {
			add("port", 1)
		}
	case strings.HasSuffix(table, ".fs[]"), strings.HasSuffix(table, ".fs.value[]"):
		if key != "deny" {
			add("read", true)
		}
	}
}

// values returns values to try at a place: those at its bounds and beyond them, its words, and
// values of every type.
func (tr *tree) values(s object) []any {
	out := []any{
		int64(-1), int64(0), int64(1), int64(1) << 40, 1.5, true, false, "", "A", "no word of any list", "~x", "a b", "A*B", "/A", "line\nbreak",
		[]any{}, []any{"A"}, []any{""}, []any{1}, []any{[]any{}}, []any{[]any{"A"}}, []any{[]any{1}}, []any{"A", []any{"A"}}, []any{map[string]any{}}, []any{map[string]any{"unknown": 1}},
		map[string]any{}, map[string]any{"unknown": 1}, map[string]any{"strategy": "append"}, map[string]any{"value": []any{}}, map[string]any{"strategy": "append", "value": []any{}},
		map[string]any{"command": "x"},
	}
	for _, bound := range []string{"minimum", "maximum"} {
		if n, ok := s[bound].(float64); ok {
			out = append(out, int64(n)-1, int64(n), int64(n)+1)
		}
	}
	if s["required"] != nil {
		table := map[string]any{}
		tr.complete(table, s)
		if s["properties"].(map[string]any)["deny"] != nil {
			table["read"] = true
		}
		out = append(out, table)
	}
	words, _ := s["enum"].([]any)
	for _, w := range words {
		if n, ok := w.(float64); ok {
			w = int64(n)
		}
		out = append(out, w)
	}
	return out
}

// TestAgree decodes many values at every place that the schema knows, and asks the schema about
// the same values. The decoder must refuse every value that the schema refuses. The schema must
// refuse every value that the decoder refuses, except for those that match beyond.
func TestAgree(t *testing.T) {
	s := compile(t)
	accepted, refused := 0, 0
	tr := plant(t)
	for _, p := range tr.places {
		good := 0
		for _, v := range tr.values(p.shape) {
			doc := p.at(v)
			valid, err := validate(t, s, doc), decode(t, doc)
			switch {
			case valid == nil && err == nil:
				good++
				accepted++
			case valid != nil && err != nil:
				refused++
			case valid != nil:
				t.Errorf("%s = %#v is refused by the schema alone: %v", p.name, v, valid)
			case !beyond.MatchString(err.Error()):
				t.Errorf("%s = %#v is refused by the decoder alone: %v", p.name, v, err)
			}
		}
		if good == 0 {
			t.Errorf("%s: no value was accepted", p.name)
		}
	}
	if accepted < 500 || refused < 3000 {
		t.Errorf("only %d values were accepted, and %d refused", accepted, refused)
	}
}

// beyond matches the decoder's errors for values that only the decoder refuses.
var beyond = regexp.MustCompile(`is not a host name|the command of the secret A is empty|has no command|says nothing`)

// TestUnknownKeys asks the decoder which keys it knows in each table, and compares them with
// those of the schema.
func TestUnknownKeys(t *testing.T) {
	known := regexp.MustCompile(`known here: (.*)`)
	tables := 0
	for _, p := range plant(t).places {
		properties, ok := p.shape["properties"].(map[string]any)
		if !ok {
			continue
		}
		table := map[string]any{"qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq": 1}
		if properties["strategy"] != nil {
			table["strategy"] = "append"
		}
		err := decode(t, p.at(table))
		m := known.FindStringSubmatch(fmt.Sprint(err))
		if m == nil {
			t.Errorf("%s: %v", p.name, err)
			continue
		}
		if want := strings.Join(slices.Sorted(maps.Keys(properties)), ", "); m[1] != want {
			t.Errorf("%s: the decoder knows %s; the schema has %s", p.name, m[1], want)
		}
		tables++
	}
	if tables < 20 {
		t.Errorf("only %d tables were looked at", tables)
	}
}
