package config

import (
	"math"
	"slices"

	"github.com/mcp-jail/mcp-jail/internal/toml"
	"github.com/mcp-jail/mcp-jail/policy"
)

func (d *decoder) netRule(n *node, key string) policy.NetRule {
	r := policy.NetRule{Where: policy.Position(d.file, n.Line)}
	before := len(d.problems)
	d.table(n, key, fields{
		"host": func(n *node, key string) {
			r.Host, _ = policy.NormalizeHost(d.like(n, key, hostForm()))
		},
		"scheme": func(n *node, key string) { r.Scheme = d.choice(n, key, "http", "https", "tcp") },
		"port":   func(n *node, key string) { r.Port = d.integer(n, key, 1, math.MaxUint16) },
		"path_prefix": func(n *node, key string) {
			r.PathPrefix = d.text(n, key)
			d.looksLike(n, prefixPattern)
		},
		"methods": func(n *node, key string) {
			r.Methods = []string{}
			d.items(n, key, func(n *node) {
				r.Methods = append(r.Methods, d.text(n, key))
				d.looksLike(n, methodPattern)
			})
			slices.Sort(r.Methods)
			r.Methods = slices.Compact(r.Methods)
			d.notEmpty(n, key, "%s is empty: leave it out for any method", key)
		},
		"secret": func(n *node, key string) {
			d.oneOrMany(n, key, func(n *node) { r.Secrets = append(r.Secrets, d.secret(n, key)) })
		},
		"allow": func(n *node, key string) { r.Allow = d.flag(n, key) },
	})
	d.requireKey(n, key, "host")
	if n.Kind == toml.Table && len(d.problems) == before {
		d.check(n, key, policy.CheckNetRule(r))
	}
	return r
}

func (d *decoder) secret(n *node, key string) policy.Secret {
	s := policy.Secret{Where: policy.Position(d.file, n.Line)}
	d.table(n, key, fields{
		"env": func(n *node, key string) {
			s.Env = d.word(n, key)
			d.looksLike(n, variablePattern)
		},
		"file": func(n *node, key string) {
			s.File = d.word(n, key)
			d.looksLike(n, filePattern)
		},
		"command": func(n *node, key string) {
			s.Command = d.texts(n, key)
			if d.shapes[n] != nil {
				d.shapes[n].NotEmpty = true // CheckNetRule says so
			}
		},
		"header": func(n *node, key string) {
			s.Header = []string{}
			d.oneOrMany(n, key, func(n *node) {
				s.Header = append(s.Header, d.word(n, key))
				d.looksLike(n, headerPattern)
			})
			d.notEmpty(n, key, "%s is empty: leave it out for the usual fields", key)
		},
	})
	d.requireKey(n, key, "env")
	return s
}

func (d *decoder) inbound(n *node, key string) policy.InboundRule {
	r := policy.InboundRule{Where: policy.Position(d.file, n.Line)}
	d.table(n, key, fields{
		"port": func(n *node, key string) { r.Port = d.integer(n, key, 1, math.MaxUint16) },
	})
	d.requireKey(n, key, "port")
	return r
}
