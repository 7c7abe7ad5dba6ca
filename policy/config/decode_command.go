package config

import (
	"slices"

	"github.com/mcp-jail/mcp-jail/internal/toml"
	"github.com/mcp-jail/mcp-jail/policy"
)

// commandRules reads the table of one program, or several tables in an array, which add up.
func (d *decoder) commandRules(n *node, key, name string) (rules []policy.CommandRule) {
	d.oneOrMany(n, key, func(n *node) { rules = append(rules, d.commandRule(n, key, name)) })
	d.notEmpty(n, key, "%s is an empty list: write [%s] for a program that may be started", key, key)
	return rules
}

func (d *decoder) commandRule(n *node, key, name string) policy.CommandRule {
	r := policy.CommandRule{Name: name, Where: policy.Position(d.file, n.Line)}
	d.table(n, key, fields{
		"args": func(n *node, key string) { r.Args = d.arguments(n, key) },
		"envs": func(n *node, key string) {
			r.Envs = []string{}
			d.items(n, key, func(n *node) { r.Envs = append(r.Envs, d.like(n, key, prefixForm())) })
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
			d.add(n, key, "%s mixes words and lists: write args = [[\"log\", \"**\"], [\"status\"]]", key)
			return lists
		}
	}
	d.either(n, own,
		func(n *node) { lists = append(lists, d.texts(n, key)) },
		func(n *node) {
			d.items(n, key, func(n *node) { lists = append(lists, d.texts(n, key)) })
		})
	d.notEmpty(n, key, "%s is empty, and would allow no start at all: write args = [[]] for a program without arguments, or leave args out for any", key)
	for _, list := range lists {
		if err := policy.CheckArguments(list); err != nil {
			d.add(n, key, "%s: %s", key, err)
		}
	}
	return lists
}
