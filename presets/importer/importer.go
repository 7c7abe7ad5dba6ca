package importer

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

const maxFile = 1 << 20

// A Starter is a table to begin with.
type Starter struct {
	Format string // what the file is, in words
	Name   string // of the table
	Text   string // TOML
}

// A FormatError says that a file is none of those that can be imported, or one without what
// is needed.
type FormatError struct {
	Message string
	Several bool // the file has several servers, and one must be named
}

func (e *FormatError) Error() string { return e.Message }

func refuse(format string, args ...any) error {
	return &FormatError{Message: fmt.Sprintf(format, args...)}
}

// Import returns the starter for a file. pick names one server of a catalogue that has
// several. Its error is a [*FormatError].
func Import(data []byte, pick string) (Starter, error) {
	if len(data) > maxFile {
		return Starter{}, refuse("the file has more than 1 MiB, which no description of a server has")
	}
	root, err := parse(data)
	if err != nil {
		return Starter{}, err
	}
	d, err := read(root, pick)
	if err != nil {
		return Starter{}, err
	}
	if n := len(d.variables) + len(d.args) + len(d.paths) + len(d.hosts); n > 200 {
		return Starter{}, refuse("the file has %d variables, arguments, paths and hosts: more than 200 are refused", n)
	}
	for _, w := range append(d.args, argument{word: d.command}) {
		if !w.open && strings.ContainsFunc(w.word, isHidden) {
			return Starter{}, refuse("a word of the command line has characters that cannot be seen: %q", oneLine(w.word))
		}
	}
	d.name = tableName(d.name)
	d.preset()
	s := Starter{Format: d.format, Name: d.name, Text: d.render()}
	if _, err := config.Decode([]byte(s.Text), "the starter"); err != nil {
		return Starter{}, refuse("the file has a name or value that a configuration cannot hold: %v", err)
	}
	return s, nil
}

func parse(data []byte) (table, error) {
	text := strings.TrimLeft(string(data), "\ufeff \t\r\n")
	root := table{}
	var err error
	kind := "YAML"
	if strings.HasPrefix(text, "{") {
		kind = "JSON"
		err = json.Unmarshal([]byte(text), &root)
	} else {
		err = yaml.Unmarshal([]byte(text), (*map[string]any)(&root))
	}
	if err != nil {
		return nil, refuse("the file is no %s: %s", kind, oneLine(err.Error()))
	}
	if len(root) == 0 {
		return nil, refuse("the file is empty")
	}
	return root, nil
}

func read(root table, pick string) (*draft, error) {
	if inner := root.table("server"); inner != nil && (inner.has("packages") || inner.has("remotes")) {
		root = inner // an answer of the registry
	}
	server := root.table("server")
	switch {
	case pick != "" && !root.has("registry"):
		return nil, refuse("the file describes one server; only a catalogue of several takes the name of one (%s)", oneLine(pick))
	case server != nil && (root.has("manifest_version") || root.has("dxt_version") || server.has("mcp_config") || server.has("entry_point")):
		return readBundle(root, server)
	case root.has("packages") || root.has("remotes"):
		return readRegistry(root)
	case root.has("startCommand") || root.has("connections") || root.has("qualifiedName"):
		return readSmithery(root)
	case root.has("registry"):
		return readCatalogue(root.table("registry"), pick)
	case root.has("image"):
		return readDocker(root.text("name"), root)
	case root.has("mcpServers"):
		return nil, refuse("the file is a client's configuration: use mcp-jail wrap --file FILE")
	}
	return nil, refuse("the file is none of server.json (packages), manifest.json of a bundle (server), smithery.yaml (startCommand), and an entry of Docker's catalogue (image); it has %s",
		oneLine(strings.Join(slices.Sorted(maps.Keys(root)), ", ")))
}

// A table is an object of JSON or YAML.
type table map[string]any

func (t table) has(key string) bool { return t[key] != nil }

func (t table) text(keys ...string) string {
	for _, key := range keys {
		switch v := t[key].(type) {
		case string:
			return v
		case bool, float64, int, uint64, int64:
			return fmt.Sprint(v)
		}
	}
	return ""
}

func (t table) flag(keys ...string) bool { return t.text(keys...) == "true" }

func (t table) table(keys ...string) table {
	for _, key := range keys {
		switch v := t[key].(type) {
		case map[string]any:
			return v
		case table:
			return v
		}
	}
	return nil
}

func (t table) tables(keys ...string) (out []table) {
	for _, key := range keys {
		if list, ok := t[key].([]any); ok {
			for _, item := range list {
				if m, ok := item.(map[string]any); ok {
					out = append(out, m)
				}
			}
			return out
		}
	}
	return nil
}

func (t table) texts(key string) (out []string) {
	list, _ := t[key].([]any)
	for _, item := range list {
		out = append(out, table{"": item}.text(""))
	}
	return out
}

func tableName(name string) string {
	name = name[strings.LastIndexByte(name, '/')+1:]
	name = strings.Map(func(r rune) rune {
		if r < 0x80 && (r == '.' || r == '_' || r == '-' || r >= '0' && r <= '9' || r|0x20 >= 'a' && r|0x20 <= 'z') {
			return r
		}
		return '-'
	}, name)
	name = strings.Trim(name, ".-")
	return strings.TrimRight(name[:min(len(name), 60)], ".-")
}

func oneLine(text string) string {
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || isHidden(r) }), " ")
	if runes := []rune(text); len(runes) > 160 {
		text = string(runes[:160]) + "…"
	}
	return text
}

func isHidden(r rune) bool { return r == unicode.ReplacementChar || show.IsHidden(r) }
