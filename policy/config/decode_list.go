package config

import (
	"github.com/mcp-jail/mcp-jail/internal/toml"
	"github.com/mcp-jail/mcp-jail/policy/config/internal/reader"
)

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
