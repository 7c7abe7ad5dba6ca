package config

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/internal/toml"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Decode reads one file that is the whole configuration. Its error is [policy.Problems]:
// all problems of the file at once, each with file, line and key. It does not read the
// disk; file is only a name.
func Decode(data []byte, file string) (*Config, error) {
	c, problems := decodeLayer(data, file)
	if len(problems) == 0 {
		problems = c.validate()
	}
	if err := problems.Err(); err != nil {
		return nil, err
	}
	return c, nil
}

// decodeLayer reads one of several files. It leaves out the checks that need the merged
// configuration, such as that for a missing command.
func decodeLayer(data []byte, file string) (*Config, policy.Problems) {
	if text := strings.TrimLeft(string(data[:min(len(data), 1<<10)]), "\ufeff \t\r\n"); strings.HasPrefix(text, "{") {
		return &Config{}, policy.Problems{{File: file, Line: 1, Message: "is JSON, like a client's configuration, but must be TOML: write [servers.NAME] with command, arguments and variables"}}
	}
	root, problems := parseDocument(data, file)
	d := &decoder{file: file, problems: problems}
	c := &Config{Files: []string{file}}
	d.whole(root, c)
	return c, d.problems
}

type decoder struct {
	file     string
	problems policy.Problems
	shapes   map[*node]*Shape // of nodes without content, for which the decoder notes what it accepts
}

// whole reads the top of a file.
func (d *decoder) whole(root *node, c *Config) {
	d.table(root, "", fields{
		"version":  func(n *node, key string) { c.Version = d.version(n, key) },
		"defaults": func(n *node, key string) { c.Defaults = d.defaults(n, key) },
		"servers": func(n *node, key string) {
			c.Servers = map[string]*Server{}
			d.each(n, key, serverForm(), func(name string, n *node, key string) { c.Servers[name] = d.server(n, key, name) })
		},
	})
}

// fields are the known keys of a table, each with the function that reads its value.
type fields map[string]func(n *node, key string)

func (d *decoder) add(n *node, key, format string, args ...any) {
	if len(d.problems) < 20*policy.MaxProblems {
		d.problems = append(d.problems, policy.Problem{File: d.file, Line: n.Line, Key: key, Message: fmt.Sprintf(format, args...)})
	}
}

// kind reports whether a value is of the kind want. If it is not, kind adds a problem.
func (d *decoder) kind(n *node, key string, want toml.Kind) bool {
	switch {
	case d.shapes[n] != nil:
		d.shapes[n].Type = jsonType(want)
		return false
	case n.Kind == want:
		return true
	}
	d.add(n, key, "%s must be %s, not %s", key, want, n.Kind)
	return false
}

// table reads a table with known keys. An unknown key is an error that suggests the most
// similar known one.
func (d *decoder) table(n *node, key string, known fields) {
	if d.shapes[n] != nil {
		d.shapes[n].Keys = map[string]*Shape{}
		for name, read := range known {
			d.shapes[n].Keys[name] = d.describe(func(n *node) { read(n, childKey(key, name)) })
		}
	}
	if !d.kind(n, key, toml.Table) {
		return
	}
	for _, name := range n.Keys {
		if strings.IndexByte(name, 0) >= 0 {
			continue // parseDocument has reported it
		}
		child, full := n.Table[name], childKey(key, name)
		if read, ok := known[name]; ok {
			read(child, full)
			continue
		}
		message := "is not a known key"
		if instead := suggestForeign(key, name, child); instead != "" {
			message += "; " + instead
		} else if near := Suggest(name, slices.Sorted(maps.Keys(known))); near != "" {
			message += fmt.Sprintf("; did you mean %s?", near)
		} else {
			message += "; known here: " + strings.Join(slices.Sorted(maps.Keys(known)), ", ")
		}
		d.add(child, full, "%s %s", full, message)
	}
}

func childKey(key, name string) string {
	if key == "" {
		return show.Key(policy.Abbreviate(name))
	}
	return key + "." + show.Key(policy.Abbreviate(name))
}

// each reads a table whose keys are names that the user chose. The names must be of the form f.
func (d *decoder) each(n *node, key string, f form, read func(name string, n *node, key string)) {
	if d.shapes[n] != nil {
		d.shapes[n].Like = f.pattern
		d.shapes[n].Names = d.describe(func(n *node) { read("NAME", n, childKey(key, "NAME")) })
	}
	if !d.kind(n, key, toml.Table) {
		return
	}
	for _, name := range n.Keys {
		if strings.IndexByte(name, 0) >= 0 {
			continue // parseDocument has reported it
		}
		child, full := n.Table[name], childKey(key, name)
		if f.check != nil {
			if err := f.check(name); err != nil {
				d.add(child, full, "%s", err)
			}
		}
		read(name, child, full)
	}
}

func (d *decoder) text(n *node, key string) string {
	d.kind(n, key, toml.String)
	return n.Text
}

// word reads a string that must not be empty.
func (d *decoder) word(n *node, key string) string {
	if d.shapes[n] != nil {
		d.shapes[n].NotEmpty = true
	}
	if d.kind(n, key, toml.String) && n.Text == "" {
		d.add(n, key, "%s is empty", key)
	}
	return n.Text
}

func (d *decoder) choice(n *node, key string, options ...string) string {
	if d.shapes[n] != nil {
		d.shapes[n].Words = options
	}
	if !d.kind(n, key, toml.String) {
		return ""
	}
	for _, o := range options {
		if n.Text == o {
			return o
		}
	}
	d.add(n, key, `%s must be "%s", not %q`, key, strings.Join(options, `" or "`), policy.Abbreviate(n.Text))
	return ""
}

func (d *decoder) flag(n *node, key string) bool {
	d.kind(n, key, toml.Bool)
	return n.Bool
}

// version reads the version of the format. There is one.
func (d *decoder) version(n *node, key string) int {
	const known = 1
	if d.shapes[n] != nil {
		return d.integer(n, key, known, known)
	}
	v := d.integer(n, key, 0, math.MaxInt32)
	if v != known && n.Kind == toml.Integer {
		d.add(n, key, "version %d is not known; this program reads version = %d", v, known)
	}
	return v
}

func (d *decoder) integer(n *node, key string, low, high int64) int {
	if d.shapes[n] != nil {
		d.shapes[n].Low, d.shapes[n].High = low, high
	}
	if !d.kind(n, key, toml.Integer) {
		return 0
	}
	if n.Int < low || n.Int > high {
		d.add(n, key, "%s must be between %d and %d, not %d", key, low, high, n.Int)
		return 0
	}
	return int(n.Int)
}

func (d *decoder) pointer(n *node, key string, low, high int64) *int {
	i := d.integer(n, key, low, high)
	return &i
}

func (d *decoder) texts(n *node, key string) []string {
	out := []string{}
	d.items(n, key, func(n *node) { out = append(out, d.text(n, key)) })
	return out
}

func (d *decoder) items(n *node, key string, read func(n *node)) {
	if d.shapes[n] != nil {
		d.shapes[n].Items = d.describe(read)
	}
	if n.Kind == toml.Table && !n.Inline {
		d.add(n, key, "%s must be an array of tables: write [[%s]]", key, key)
		return
	}
	if d.kind(n, key, toml.Array) {
		for _, item := range n.Items {
			read(item)
		}
	}
}
