package config

import (
	"maps"
	"slices"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/internal/toml"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config/internal/reader"
)

func (d *decoder) server(n *node, key, name string) *Server {
	s := &Server{Name: name, Where: policy.Position(d.in.File, n.Line)}
	known := d.settings(s)
	maps.Copy(known, fields{
		"preset": func(n *node, key string) {
			s.Preset, s.PresetWhere = d.in.Word(n, key), policy.Position(d.in.File, n.Line)
		},
		"command":   func(n *node, key string) { s.Command = d.in.Word(n, key) },
		"arguments": func(n *node, key string) { s.Arguments = d.in.Texts(d.list(n, key, "arguments", &s.Merge), key) },
		"workspace": func(n *node, key string) {
			switch s.Workspace = d.in.Word(n, key); s.Workspace {
			case "write", "read", "none":
				d.in.Add(n, key, "workspace = %[1]q names a directory. What the server may do there is access.workspace = %[1]q; a directory of that name is \"./%[1]s\".", s.Workspace)
			}
		},
		"id":        func(n *node, key string) { s.ID = d.in.Like(n, key, idForm()) },
		"directory": func(n *node, key string) { s.Directory = d.in.Like(n, key, directoryForm()) },
		"home":      func(n *node, key string) { s.Home = d.in.Choice(n, key, "private", "real") },
		"stateful":  func(n *node, key string) { s.Stateful = d.in.FlagPointer(n, key) },
		"variables": func(n *node, key string) {
			s.Variables = []policy.EnvRule{}
			d.in.Items(d.list(n, key, "variables", &s.Merge), key, func(n *node) {
				s.Variables = append(s.Variables, policy.EnvRule{Name: d.in.Like(n, key, variableForm()), Read: true, Where: policy.Position(d.in.File, n.Line)})
			})
		},
		"waive": func(n *node, key string) {
			s.Waive = []policy.Axis{}
			d.in.Items(d.list(n, key, "waive", &s.Merge), key, func(n *node) {
				s.Waive = append(s.Waive, policy.Axis(d.in.Choice(n, key, waivers()...)))
			})
		},
		"access": func(n *node, key string) { s.Access = d.access(n, key) },
		"tools": func(n *node, key string) {
			s.Tools = map[string]*Tool{}
			d.in.Each(n, key, form{}, func(name string, n *node, key string) {
				t := &Tool{Name: name, Where: policy.Position(d.in.File, n.Line)}
				s.Tools[name] = t
				d.in.Table(n, key, fields{
					"access": func(n *node, key string) { t.Access = d.access(n, key) },
					"warm":   func(n *node, key string) { t.Warm = d.in.Pointer(n, key, 0, maxWarm) },
				})
			})
		},
	})
	d.in.Table(n, key, known)
	return s
}

// settings returns the keys that a server's table and [defaults] share.
func (d *decoder) settings(s *Server) fields {
	s.places = map[string]string{}
	known := fields{"limits": func(n *node, key string) { d.in.Table(n, key, d.places(s, "limits.", s.Limits.settings())) }}
	maps.Copy(known, d.places(s, "", s.settings()))
	return known
}

// places returns the keys of settings, which note where they are.
func (d *decoder) places(s *Server, head string, settings []setting) fields {
	known := fields{}
	for _, set := range settings {
		known[set.key] = func(n *node, key string) {
			s.places[head+set.key] = policy.Position(d.in.File, n.Line)
			set.read(d.in, n, key)
		}
	}
	return known
}

// serverOnly are keys of a server that the table for all servers must not have.
var serverOnly = []string{"access", "command", "arguments", "variables", "workspace", "home", "preset", "stateful", "tools"}

func (d *decoder) defaults(n *node, key string) *Defaults {
	out := &Defaults{Where: policy.Position(d.in.File, n.Line)}
	known := d.settings(&out.settings)
	known["sensitive_paths"] = func(n *node, key string) { out.SensitivePaths, out.sensitiveAt = d.sensitivePaths(n, key) }
	known["env"] = func(n *node, key string) {
		d.in.Items(n, key, func(n *node) { out.Env = append(out.Env, d.envRule(n, key)) })
	}
	known["waive"] = func(n *node, key string) { out.Waive = d.platformWaivers(n, key) }
	others := *n
	if shape := d.in.Shapes[n]; shape != nil {
		d.in.Shapes[&others] = shape
	}
	others.Keys = slices.DeleteFunc(slices.Clone(n.Keys), func(name string) bool {
		own := slices.Contains(serverOnly, name)
		if full := reader.ChildKey(key, name); own {
			d.in.Add(n.Table[name], full, forAll, full)
		}
		return own
	})
	d.in.Table(&others, key, known)
	return out
}

// forAll refuses a key in the table for all servers.
const forAll = "%s would hold for every server, also for one that did not ask for it: write it into [servers.NAME]"

// platformWaivers reads what the table for all servers may waive: what an operating system cannot enforce
// under any policy, and no axis.
func (d *decoder) platformWaivers(n *node, key string) (words []policy.Axis) {
	names := slices.DeleteFunc(waivers(), func(name string) bool { return !policy.Axis(name).IsPlatform() })
	d.in.Items(n, key, func(n *node) {
		if n.Kind == toml.String && slices.Contains(policy.Axes(), policy.Axis(n.Text)) {
			d.in.Add(n, key, forAll, key)
			return
		}
		words = append(words, policy.Axis(d.in.Choice(n, key, names...)))
	})
	return words
}

func waivers() (names []string) {
	for _, a := range policy.Waivers() {
		names = append(names, string(a))
	}
	return names
}

func (d *decoder) access(n *node, key string) *Access {
	a := &Access{Where: policy.Position(d.in.File, n.Line)}
	d.in.Table(n, key, fields{
		"fs": func(n *node, key string) {
			a.Fs = []policy.FsRule{}
			d.in.Items(d.list(n, key, "fs", &a.Merge), key, func(n *node) { a.Fs = append(a.Fs, d.fsRule(n, key)) })
		},
		"net": func(n *node, key string) {
			a.Net = []policy.NetRule{}
			d.in.Items(d.list(n, key, "net", &a.Merge), key, func(n *node) { a.Net = append(a.Net, d.netRule(n, key)) })
		},
		"inbound": func(n *node, key string) {
			a.Inbound = []policy.InboundRule{}
			d.in.Items(d.list(n, key, "inbound", &a.Merge), key, func(n *node) { a.Inbound = append(a.Inbound, d.inbound(n, key)) })
		},
		"env": func(n *node, key string) {
			a.Env = []policy.EnvRule{}
			d.in.Items(d.list(n, key, "env", &a.Merge), key, func(n *node) { a.Env = append(a.Env, d.envRule(n, key)) })
		},
		"commands": func(n *node, key string) {
			a.Commands = map[string][]policy.CommandRule{}
			d.in.Each(n, key, commandForm(), func(name string, n *node, key string) { a.Commands[name] = d.commandRules(n, key, name) })
		},
		"sensitive_paths": func(n *node, key string) { a.SensitivePaths, a.sensitiveAt = d.sensitivePaths(n, key) },
		"workspace": func(n *node, key string) {
			a.Workspace, a.workspaceAt = d.in.Choice(n, key, "write", "read", "none"), policy.Position(d.in.File, n.Line)
		},
	})
	return a
}

// sensitivePaths reads a list of paths. at has their places.
func (d *decoder) sensitivePaths(n *node, key string) (paths []string, at map[string]string) {
	paths, at = []string{}, map[string]string{}
	d.in.Items(n, key, func(n *node) {
		path := d.in.Like(n, key, sensitiveForm())
		paths, at[path] = append(paths, path), policy.Position(d.in.File, n.Line)
	})
	return paths, at
}

func (d *decoder) fsRule(n *node, key string) policy.FsRule {
	r := policy.FsRule{Where: policy.Position(d.in.File, n.Line)}
	var write bool
	var deny *node
	var create, update, remove *bool
	pointer := func(to **bool) func(*node, string) {
		return func(n *node, key string) {
			b := d.in.Flag(n, key)
			*to = &b
		}
	}
	d.in.Table(n, key, fields{
		"path":    func(n *node, key string) { r.Path = d.in.Like(n, key, pathForm()) },
		"read":    func(n *node, key string) { r.Read = d.in.Flag(n, key) },
		"execute": func(n *node, key string) { r.Execute = d.in.Flag(n, key) },
		"write":   func(n *node, key string) { write = d.in.Flag(n, key) },
		"create":  pointer(&create),
		"update":  pointer(&update),
		"delete":  pointer(&remove),
		"deny": func(n *node, key string) {
			deny = n
			r.Deny = d.denied(n, key)
		},
	})
	d.in.RequireKey(n, key, "path", "")
	// docs/policy.md "Filesystem rules": what `write` stands in for.
	either := func(b *bool) bool {
		if b != nil {
			return *b
		}
		return write
	}
	r.Create, r.Update, r.Delete = either(create), either(update), either(remove)
	switch {
	case r.Deny != 0 && len(n.Keys) > 2:
		d.in.Add(deny, key, "path = %s has deny and other keys: a rule grants rights or takes them away. Write a second rule for the path", show.TOML(r.Path))
	case r.Path != "" && r.Deny == 0 && r.Rights() == 0:
		d.in.Add(n, "", "path = %s says nothing. A rule grants rights or takes them away: to hide this path, write deny = true; otherwise remove the rule.", show.TOML(r.Path))
	}
	return r
}

// denied reads true, or "write".
func (d *decoder) denied(n *node, key string) (rights policy.Rights) {
	own := 0
	if n.Kind == toml.String {
		own = 1
	}
	d.in.Either(n, own,
		func(n *node) {
			if d.in.Flag(n, key) {
				rights = policy.AllRights
			}
		},
		func(n *node) {
			if d.in.Choice(n, key, "write") != "" {
				rights = policy.Write
			}
		})
	return rights
}

func (d *decoder) envRule(n *node, key string) policy.EnvRule {
	r := policy.EnvRule{Where: policy.Position(d.in.File, n.Line)}
	d.in.Table(n, key, fields{
		"name": func(n *node, key string) { r.Name = d.in.Like(n, key, prefixForm()) },
		"read": func(n *node, key string) { r.Read = d.in.Flag(n, key) },
	})
	d.in.RequireKey(n, key, "name", "")
	d.in.RequireKey(n, key, "read", ": write read = true to grant it, or read = false to refuse it")
	return r
}
