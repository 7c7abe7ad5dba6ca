package config

import (
	"math"
	"slices"

	"github.com/mcp-jail/mcp-jail/policy"
)

func (d *decoder) netRule(n *node, key string) policy.NetRule {
	r := policy.NetRule{Where: policy.Position(d.file, n.line)}
	before := len(d.problems)
	d.table(n, key, fields{
		"host": func(n *node, key string) {
			if host := d.text(n, key); n.kind == nodeString {
				normal, err := policy.NormalizeHost(host)
				d.check(n, key, err)
				r.Host = normal
			}
		},
		"scheme":      func(n *node, key string) { r.Scheme = d.choice(n, key, "http", "https", "tcp") },
		"port":        func(n *node, key string) { r.Port = d.integer(n, key, 1, math.MaxUint16) },
		"path_prefix": func(n *node, key string) { r.PathPrefix = d.text(n, key) },
		"methods": func(n *node, key string) {
			r.Methods = d.texts(n, key)
			slices.Sort(r.Methods)
			if r.Methods = slices.Compact(r.Methods); n.kind == nodeArray && len(n.items) == 0 {
				d.add(n, key, "%s is empty: leave it out for any method", key)
			}
		},
		"secret": func(n *node, key string) {
			if n.kind != nodeArray {
				r.Secrets = append(r.Secrets, d.secret(n, key))
				return
			}
			for _, item := range n.items {
				r.Secrets = append(r.Secrets, d.secret(item, key))
			}
		},
		"allow": func(n *node, key string) { r.Allow = d.flag(n, key) },
	})
	d.requireKey(n, key, "host")
	if n.kind == nodeTable && len(d.problems) == before {
		d.check(n, key, policy.CheckNetRule(r))
	}
	return r
}

func (d *decoder) secret(n *node, key string) policy.Secret {
	s := policy.Secret{Where: policy.Position(d.file, n.line)}
	d.table(n, key, fields{
		"env":     func(n *node, key string) { s.Env = d.word(n, key) },
		"file":    func(n *node, key string) { s.File = d.word(n, key) },
		"command": func(n *node, key string) { s.Command = d.texts(n, key) },
		"header": func(n *node, key string) {
			if n.kind == nodeArray {
				s.Header = d.texts(n, key)
				return
			}
			s.Header = []string{d.word(n, key)}
		},
	})
	d.requireKey(n, key, "env")
	return s
}

func (d *decoder) inbound(n *node, key string) policy.InboundRule {
	r := policy.InboundRule{Where: policy.Position(d.file, n.line)}
	d.table(n, key, fields{
		"port": func(n *node, key string) { r.Port = d.integer(n, key, 1, math.MaxUint16) },
	})
	d.requireKey(n, key, "port")
	return r
}
