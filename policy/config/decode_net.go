package config

import (
	"math"
	"slices"

	"github.com/mcp-jail/mcp-jail/internal/toml"
	"github.com/mcp-jail/mcp-jail/policy"
)

func (d *decoder) netRule(n *node, key string) policy.NetRule {
	r := policy.NetRule{Where: policy.Position(d.in.File, n.Line)}
	before := len(d.in.Problems)
	d.in.Table(n, key, fields{
		"host": func(n *node, key string) {
			r.Host, _ = policy.NormalizeHost(d.in.Like(n, key, hostForm()))
		},
		"scheme": func(n *node, key string) { r.Scheme = d.in.Choice(n, key, "http", "https", "tcp") },
		"port":   func(n *node, key string) { r.Port = d.in.Integer(n, key, 1, math.MaxUint16) },
		"path_prefix": func(n *node, key string) {
			r.PathPrefix = d.in.Text(n, key)
			d.in.LooksLike(n, prefixPattern)
		},
		"methods": func(n *node, key string) {
			r.Methods = []string{}
			d.in.Items(n, key, func(n *node) {
				r.Methods = append(r.Methods, d.in.Text(n, key))
				d.in.LooksLike(n, methodPattern)
			})
			slices.Sort(r.Methods)
			r.Methods = slices.Compact(r.Methods)
			d.in.NotEmpty(n, key, "%s is empty: leave it out for any method", key)
		},
		"secret": func(n *node, key string) {
			d.in.OneOrMany(n, key, func(n *node) { r.Secrets = append(r.Secrets, d.secret(n, key)) })
		},
		"allow": func(n *node, key string) { r.Allow = d.in.Flag(n, key) },
	})
	d.in.RequireKey(n, key, "host", "")
	d.in.RequireKey(n, key, "allow", ": write allow = true to grant it, or allow = false to refuse it")
	if n.Kind == toml.Table && len(d.in.Problems) == before {
		d.in.Check(n, key, policy.CheckNetRule(r))
	}
	return r
}

func (d *decoder) secret(n *node, key string) policy.Secret {
	s := policy.Secret{Where: policy.Position(d.in.File, n.Line)}
	d.in.Table(n, key, fields{
		"env": func(n *node, key string) {
			s.Env = d.in.Word(n, key)
			d.in.LooksLike(n, variablePattern)
		},
		"file": func(n *node, key string) {
			s.File = d.in.Word(n, key)
			d.in.LooksLike(n, filePattern)
		},
		"command": func(n *node, key string) {
			s.Command = d.in.Texts(n, key)
			if d.in.Shapes[n] != nil {
				d.in.Shapes[n].NotEmpty = true // CheckNetRule says so
			}
		},
		"header": func(n *node, key string) {
			s.Header = []string{}
			d.in.OneOrMany(n, key, func(n *node) {
				s.Header = append(s.Header, d.in.Word(n, key))
				d.in.LooksLike(n, headerPattern)
			})
			d.in.NotEmpty(n, key, "%s is empty: leave it out for the usual fields", key)
		},
	})
	d.in.RequireKey(n, key, "env", "")
	return s
}

func (d *decoder) inbound(n *node, key string) policy.InboundRule {
	r := policy.InboundRule{Where: policy.Position(d.in.File, n.Line)}
	d.in.Table(n, key, fields{
		"port": func(n *node, key string) { r.Port = d.in.Integer(n, key, 1, math.MaxUint16) },
	})
	d.in.RequireKey(n, key, "port", "")
	return r
}
