package config

import (
	"math"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/toml"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config/internal/reader"
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
	in, root := reader.New(data, file)
	d := &decoder{in}
	c := &Config{Files: []string{file}}
	d.whole(root, c)
	return c, d.in.Problems
}

// A decoder reads the tables of a configuration.
type decoder struct{ in *reader.Reader }

type (
	node   = toml.Node
	fields = reader.Fields
	form   = reader.Form
)

func (d *decoder) whole(root *node, c *Config) {
	d.in.Table(root, "", fields{
		"version":  func(n *node, key string) { c.Version = d.version(n, key) },
		"defaults": func(n *node, key string) { c.Defaults = d.defaults(n, key) },
		"servers": func(n *node, key string) {
			c.Servers = map[string]*Server{}
			d.in.Each(n, key, serverForm(), func(name string, n *node, key string) { c.Servers[name] = d.server(n, key, name) })
		},
	})
}

// version reads the version of the format. There is one.
func (d *decoder) version(n *node, key string) int {
	const known = 1
	if d.in.Shapes[n] != nil {
		return d.in.Integer(n, key, known, known)
	}
	v := d.in.Integer(n, key, 0, math.MaxInt32)
	if v != known && n.Kind == toml.Integer {
		d.in.Add(n, key, "version %d is not known; this program reads version = %d", v, known)
	}
	return v
}

// Describe returns the shape of a whole file. It has the decoder read a node of unknown
// content: the functions that check a value note there what they would accept.
func Describe() *Shape {
	d := &decoder{&reader.Reader{Shapes: map[*node]*reader.Shape{}}}
	return d.in.Describe(func(root *node) { d.whole(root, &Config{}) })
}

// list reads an array, or { strategy = "...", value = [...] } in its place, and returns the
// node of the array.
func (d *decoder) list(n *node, key, name string, merge *map[string]Strategy) *node {
	if d.in.Shapes[n] != nil {
		return d.describeList(n, key)
	}
	if n.Kind != toml.Table || n.Table["strategy"] == nil && n.Table["value"] == nil {
		return n
	}
	strategy, value := d.joined(n, key)
	switch {
	case n.Table["strategy"] == nil:
		d.in.Add(n, key, "%s has a value without a strategy", key)
	case value == nil:
		d.in.Add(n, key, "%s has a strategy without a value", key)
	}
	if value == nil {
		return &node{Kind: toml.Array, Line: n.Line}
	}
	if strategy != "" {
		if *merge == nil {
			*merge = map[string]Strategy{}
		}
		(*merge)[name] = strategy
	}
	return value
}

// joined reads the table { strategy = "...", value = [...] } in place of a list.
func (d *decoder) joined(n *node, key string) (strategy Strategy, value *node) {
	d.in.Table(n, key, fields{
		"strategy": func(n *node, key string) {
			strategy = Strategy(d.in.Choice(n, key, string(Append), string(Prepend), string(Replace), string(Dedup)))
		},
		"value": func(n *node, key string) { value = n },
	})
	return strategy, value
}

// describeList notes both forms of a list, and returns the node of the array, at which the
// caller notes the items.
func (d *decoder) describeList(n *node, key string) (value *node) {
	table := d.in.Describe(func(n *node) { _, value = d.joined(n, key) })
	table.Required = []string{"strategy", "value"}
	d.in.Shapes[n].Any = []*reader.Shape{d.in.Shapes[value], table}
	return value
}

// commandRules reads the table of one program, or several tables in an array, which add up.
func (d *decoder) commandRules(n *node, key, name string) (rules []policy.CommandRule) {
	d.in.OneOrMany(n, key, func(n *node) { rules = append(rules, d.commandRule(n, key, name)) })
	d.in.NotEmpty(n, key, "%s is an empty list: write [%s] for a program that may be started", key, key)
	return rules
}

func (d *decoder) commandRule(n *node, key, name string) policy.CommandRule {
	r := policy.CommandRule{Name: name, Where: policy.Position(d.in.File, n.Line)}
	d.in.Table(n, key, fields{
		"args": func(n *node, key string) { r.Args = d.arguments(n, key) },
		"envs": func(n *node, key string) {
			r.Envs = []string{}
			d.in.Items(n, key, func(n *node) { r.Envs = append(r.Envs, d.in.Like(n, key, prefixForm())) })
		},
	})
	return r
}

// arguments reads lists of arguments. One list may be written flat: args = ["log", "**"].
func (d *decoder) arguments(n *node, key string) [][]string {
	lists := [][]string{}
	isWord := func(n *node) bool { return n.Kind == toml.String }
	own := 1
	if slices.ContainsFunc(n.Items, isWord) {
		own = 0
		if slices.ContainsFunc(n.Items, func(n *node) bool { return !isWord(n) }) {
			d.in.Add(n, key, "%s mixes words and lists: write args = [[\"log\", \"**\"], [\"status\"]]", key)
			return lists
		}
	}
	d.in.Either(n, own,
		func(n *node) { lists = append(lists, d.in.Texts(n, key)) },
		func(n *node) {
			d.in.Items(n, key, func(n *node) { lists = append(lists, d.in.Texts(n, key)) })
		})
	d.in.NotEmpty(n, key, "%s is empty, and would allow no start at all: write args = [[]] for a program without arguments, or leave args out for any", key)
	for _, list := range lists {
		if err := policy.CheckArguments(list); err != nil {
			d.in.Add(n, key, "%s: %s", key, err)
		}
	}
	return lists
}
