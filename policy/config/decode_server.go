package config

import (
	"maps"
	"math"
	"slices"

	"github.com/mcp-jail/mcp-jail/internal/toml"
	"github.com/mcp-jail/mcp-jail/policy"
)

const (
	maxSeconds = 7 * 24 * 3600
	maxCount   = 1 << 20
)

func (d *decoder) server(n *node, key, name string) *Server {
	s := &Server{Name: name, Where: policy.Position(d.file, n.Line)}
	known := d.settings(s)
	maps.Copy(known, fields{
		"preset": func(n *node, key string) {
			s.Preset, s.PresetWhere = d.word(n, key), policy.Position(d.file, n.Line)
		},
		"command":     func(n *node, key string) { s.Command = d.word(n, key) },
		"arguments":   func(n *node, key string) { s.Arguments = d.texts(d.list(n, key, "arguments", &s.Merge), key) },
		"workspace":   func(n *node, key string) { s.Workspace = d.word(n, key) },
		"home":        func(n *node, key string) { s.Home = d.choice(n, key, "private", "real") },
		"description": func(n *node, key string) { s.Description = d.text(n, key) },
		"stateful":    func(n *node, key string) { s.Stateful = d.flagPointer(n, key) },
		"variables": func(n *node, key string) {
			s.Variables = []policy.EnvRule{}
			d.items(d.list(n, key, "variables", &s.Merge), key, func(n *node) {
				s.Variables = append(s.Variables, policy.EnvRule{Name: d.like(n, key, variableForm()), Read: true, Where: policy.Position(d.file, n.Line)})
			})
		},
		"waive": func(n *node, key string) {
			s.Waive = []policy.Axis{}
			d.items(d.list(n, key, "waive", &s.Merge), key, func(n *node) {
				s.Waive = append(s.Waive, policy.Axis(d.choice(n, key, axisNames()...)))
			})
		},
		"access": func(n *node, key string) { s.Access = d.access(n, key) },
		"tools": func(n *node, key string) {
			s.Tools = map[string]*Tool{}
			d.each(n, key, form{}, func(name string, n *node, key string) {
				t := &Tool{Name: name, Where: policy.Position(d.file, n.Line)}
				s.Tools[name] = t
				d.table(n, key, fields{
					"access": func(n *node, key string) { t.Access = d.access(n, key) },
					"warm":   func(n *node, key string) { t.Warm = d.pointer(n, key, 0, maxWarm) },
				})
			})
		},
	})
	d.table(n, key, known)
	return s
}

// settings returns the keys that a server's table and [defaults] share. They grant no file, host,
// program or variable.
func (d *decoder) settings(s *Server) fields {
	s.places = map[string]string{}
	known := fields{
		"roots":           func(n *node, key string) { s.Roots = d.choice(n, key, "off", "narrow", "advertise") },
		"advertise":       func(n *node, key string) { s.Advertise = d.flagPointer(n, key) },
		"auto_install":    func(n *node, key string) { s.AutoInstall = d.flagPointer(n, key) },
		"install_scripts": func(n *node, key string) { s.InstallScripts = d.flagPointer(n, key) },
		"pin_tools":       func(n *node, key string) { s.PinTools = d.choice(n, key, "off", "warn", "enforce") },
		"undo": func(n *node, key string) {
			s.Undo = d.choice(n, key, policy.UndoOff, policy.UndoSession, policy.UndoCall)
		},
		"undo_file_mb":  func(n *node, key string) { s.UndoFileMB = d.pointer(n, key, 1, 1<<20) },
		"undo_total_mb": func(n *node, key string) { s.UndoTotalMB = d.pointer(n, key, 1, 1<<24) },
		"undo_days":     func(n *node, key string) { s.UndoDays = d.pointer(n, key, 1, 3650) },
		"leaks": func(n *node, key string) {
			s.Leaks = d.choice(n, key, policy.LeaksOff, policy.LeaksWarn, policy.LeaksBlock)
		},
		"leak_patterns":        func(n *node, key string) { s.LeakPatterns = d.flagPointer(n, key) },
		"startup_timeout_secs": func(n *node, key string) { s.StartupTimeoutSecs = d.pointer(n, key, 0, maxSeconds) },
		"call_timeout_secs":    func(n *node, key string) { s.CallTimeoutSecs = d.pointer(n, key, 0, maxSeconds) },
		"warm":                 func(n *node, key string) { s.Warm = d.pointer(n, key, 0, maxWarm) },
		"max_concurrent_calls": func(n *node, key string) { s.MaxConcurrentCalls = d.pointer(n, key, 1, 4096) },
	}
	for name, read := range known {
		known[name] = func(n *node, key string) {
			s.places[name] = policy.Position(d.file, n.Line)
			read(n, key)
		}
	}
	known["limits"] = func(n *node, key string) {
		s.Limits = d.limits(n, key)
		for _, name := range n.Keys {
			s.places["limits."+name] = policy.Position(d.file, n.Table[name].Line)
		}
	}
	return known
}

// serverOnly are keys of a server that the table for all servers must not have.
var serverOnly = []string{"access", "command", "arguments", "variables", "workspace", "home", "preset", "waive", "stateful", "tools"}

// defaults reads the table for all servers.
func (d *decoder) defaults(n *node, key string) *Defaults {
	out := &Defaults{Where: policy.Position(d.file, n.Line)}
	known := d.settings(&out.settings)
	known["sensitive_paths"] = func(n *node, key string) { out.SensitivePaths, out.sensitiveAt = d.sensitivePaths(n, key) }
	known["env"] = func(n *node, key string) {
		d.items(n, key, func(n *node) { out.Env = append(out.Env, d.envRule(n, key)) })
	}
	others := *n
	if shape := d.shapes[n]; shape != nil {
		d.shapes[&others] = shape
	}
	others.Keys = slices.DeleteFunc(slices.Clone(n.Keys), func(name string) bool {
		own := slices.Contains(serverOnly, name)
		if full := childKey(key, name); own {
			d.add(n.Table[name], full, "%s would hold for every server, also for one that did not ask for it: write it into [servers.NAME]", full)
		}
		return own
	})
	d.table(&others, key, known)
	return out
}

// flagPointer decodes true or false of a key that may be absent.
func (d *decoder) flagPointer(n *node, key string) *bool {
	b := d.flag(n, key)
	return &b
}

// maxWarm bounds the warm workers of one tool.
const maxWarm = 64

func axisNames() (names []string) {
	for _, a := range policy.Axes() {
		names = append(names, string(a))
	}
	return names
}

func (d *decoder) limits(n *node, key string) (l LimitsTable) {
	d.table(n, key, fields{
		"memory_mb":    func(n *node, key string) { l.MemoryMB = d.pointer(n, key, 1, 1<<24) },
		"processes":    func(n *node, key string) { l.Processes = d.pointer(n, key, 1, maxCount) },
		"open_files":   func(n *node, key string) { l.OpenFiles = d.pointer(n, key, 32, maxCount) }, // the start itself takes some 20
		"file_size_mb": func(n *node, key string) { l.FileSizeMB = d.pointer(n, key, 1, 1<<24) },
		"message_mb":   func(n *node, key string) { l.MessageMB = d.pointer(n, key, 1, 2047) },
		"net_out_mb":   func(n *node, key string) { l.NetOutMB = d.pointer(n, key, 1, 1<<24) },
		"connections":  func(n *node, key string) { l.Connections = d.pointer(n, key, 1, math.MaxUint16) },
	})
	return l
}

func (d *decoder) access(n *node, key string) *Access {
	a := &Access{Where: policy.Position(d.file, n.Line)}
	d.table(n, key, fields{
		"fs": func(n *node, key string) {
			a.Fs = []policy.FsRule{}
			d.items(d.list(n, key, "fs", &a.Merge), key, func(n *node) { a.Fs = append(a.Fs, d.fsRule(n, key)) })
		},
		"net": func(n *node, key string) {
			a.Net = []policy.NetRule{}
			d.items(d.list(n, key, "net", &a.Merge), key, func(n *node) { a.Net = append(a.Net, d.netRule(n, key)) })
		},
		"inbound": func(n *node, key string) {
			a.Inbound = []policy.InboundRule{}
			d.items(d.list(n, key, "inbound", &a.Merge), key, func(n *node) { a.Inbound = append(a.Inbound, d.inbound(n, key)) })
		},
		"env": func(n *node, key string) {
			a.Env = []policy.EnvRule{}
			d.items(d.list(n, key, "env", &a.Merge), key, func(n *node) { a.Env = append(a.Env, d.envRule(n, key)) })
		},
		"commands": func(n *node, key string) {
			a.Commands = map[string][]policy.CommandRule{}
			d.each(n, key, commandForm(), func(name string, n *node, key string) { a.Commands[name] = d.commandRules(n, key, name) })
		},
		"sensitive_paths": func(n *node, key string) { a.SensitivePaths, a.sensitiveAt = d.sensitivePaths(n, key) },
	})
	return a
}

// sensitivePaths reads a list of paths. at has their places.
func (d *decoder) sensitivePaths(n *node, key string) (paths []string, at map[string]string) {
	paths, at = []string{}, map[string]string{}
	d.items(n, key, func(n *node) {
		path := d.like(n, key, sensitiveForm())
		paths, at[path] = append(paths, path), policy.Position(d.file, n.Line)
	})
	return paths, at
}

// check turns the error of a validation into a problem.
func (d *decoder) check(n *node, key string, err error) {
	if err != nil {
		d.add(n, key, "%s: %s", key, err)
	}
}

func (d *decoder) requireKey(n *node, key, name string) {
	if d.shapes[n] != nil {
		d.shapes[n].Required = append(d.shapes[n].Required, name)
	}
	if n.Kind == toml.Table && n.Table[name] == nil {
		d.add(n, childKey(key, name), "%s has no %s", key, name)
	}
}

func (d *decoder) fsRule(n *node, key string) policy.FsRule {
	r := policy.FsRule{Where: policy.Position(d.file, n.Line)}
	var write bool
	var create, update, remove *bool
	pointer := func(to **bool) func(*node, string) {
		return func(n *node, key string) {
			b := d.flag(n, key)
			*to = &b
		}
	}
	d.table(n, key, fields{
		"path":    func(n *node, key string) { r.Path = d.like(n, key, pathForm()) },
		"read":    func(n *node, key string) { r.Read = d.flag(n, key) },
		"execute": func(n *node, key string) { r.Execute = d.flag(n, key) },
		"write":   func(n *node, key string) { write = d.flag(n, key) },
		"create":  pointer(&create),
		"update":  pointer(&update),
		"delete":  pointer(&remove),
	})
	d.requireKey(n, key, "path")
	// docs/policy.md "Filesystem rules": what `write` stands in for.
	either := func(b *bool) bool {
		if b != nil {
			return *b
		}
		return write
	}
	r.Create, r.Update, r.Delete = either(create), either(update), either(remove)
	return r
}

func (d *decoder) envRule(n *node, key string) policy.EnvRule {
	r := policy.EnvRule{Where: policy.Position(d.file, n.Line)}
	d.table(n, key, fields{
		"name": func(n *node, key string) { r.Name = d.like(n, key, prefixForm()) },
		"read": func(n *node, key string) { r.Read = d.flag(n, key) },
	})
	d.requireKey(n, key, "name")
	return r
}
