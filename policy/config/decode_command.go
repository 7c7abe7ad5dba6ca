package config

import (
	"slices"

	"github.com/mcp-jail/mcp-jail/internal/toml"
	"github.com/mcp-jail/mcp-jail/policy"
)

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
