package config

import (
	"fmt"
	"slices"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// The tables of a configuration. Each key has one row, with which it is read, written and described: this file has
// those of tables, keys_rules.go those of rules, and settings.go those that [defaults] shares with a server.

func (c *Config) keys() []key {
	version := bounds(1, 1)
	version.Keep = func(n *node, _ string) { c.Version = int(n.Int) }
	defaults := &Defaults{}
	return []key{
		row("version", version, "The version of the format."),
		row("defaults", placed(&defaults.Where, value{Kind: show.Table, Keys: defaults.keys(), Keep: func(*node, string) { c.Defaults = defaults }}),
			"What holds for every server that does not say otherwise."),
		row("servers", value{
			Kind: show.Table, Form: serverForm, Names: c.newServer,
			Keep: func(*node, string) { c.Servers = map[string]*Server{} },
		}, "The servers, by their names. Letters, digits, '.', '_' and '-' make up a name."),
	}
}

func (c *Config) newServer(name string) value {
	s := &Server{Name: name}
	return placed(&s.Where, value{Kind: show.Table, Keys: s.keys(), Keep: func(*node, string) { c.Servers[name] = s }})
}

func (d *Defaults) keys() []key {
	platforms := slices.DeleteFunc(policy.Waivers(), func(a policy.Axis) bool { return !a.IsPlatform() })
	return slices.Concat(d.Settings.keys(), []key{
		d.Settings.limits(),
		row("env", list(&d.Env, envRule), "Rules for environment variables, before those of each server."),
		row("sensitive_paths", sensitivePaths(&d.SensitivePaths, &d.sensitiveAt), "More paths that are hidden inside wider grants of every server. They join the built-in list."),
		row("waive", axes(&d.Waive, platforms...), "Start every server even if this operating system cannot enforce what it never can. Every start warns of it."),
	})
}

// keys are in the order in which a file has them.
func (s *Server) keys() []key {
	access := &Access{}
	return slices.Concat([]key{
		row("id", like(&s.ID, idForm), "The id of the server, in the file that mcp-jail wrap has made for it."),
		row("preset", placed(&s.PresetWhere, word(&s.Preset)), "The name of a preset, which grants what a well-known server needs. mcp-jail preset lists them."),
		row("command", word(&s.Command), "The program: a name in PATH, ~/PATH, or a path. A relative path begins at the workspace."),
		row("arguments", joined(&s.Merge, "arguments", arguments(&s.Arguments)), "The arguments of the program."),
		row("directory", like(&s.Directory, directoryForm), "Where such a server starts: a path, or \"workspace\". "+
			"Without it, a pinned package starts where its client does, and any other line in its HOME."),
		row("workspace", workspaceOf(s), "The directory that relative paths begin at, and that the default policy grants. Without it, the working directory."),
		row("stateful", optional(&s.Stateful), "true: one process serves the whole session. "+
			"false: each call gets a process of its own, and each tool can have its own rules.", true),
		row("variables", joined(&s.Merge, "variables", variables(&s.Variables)), "Exact names of environment variables to forward. They hold under any policy."),
		row("home", choice(&s.Home, "private", "real"), "private: the server gets its own HOME, with links to what rules grant below yours. "+
			"real: HOME names yours, and rules say what can be reached there.", "private"),
	}, s.Settings.keys(), []key{
		row("waive", joined(&s.Merge, "waive", axes(&s.Waive, policy.Waivers()...)), "Start even if these axes cannot be enforced, or what an operating system never can. Every start warns of it."),
		row("access", accessTable(access, &s.Access), "What the server may touch. Without this table, the default policy grants the workspace."),
		s.Settings.limits(),
		row("tools", value{Kind: show.Table, Names: s.newTool, Keep: func(*node, string) { s.Tools = map[string]*Tool{} }},
			"Tables for single tools, by their names. \"*\" stands for all other tools. Of a stateful server they have allow alone."),
	})
}

func workspaceOf(s *Server) value {
	v := word(&s.Workspace)
	v.Form = form{Check: func(dir string) error {
		switch dir {
		case "write", "read", "none":
			return fmt.Errorf("workspace = %[1]q names a directory. What the server may do there is access.workspace = %[1]q; a directory of that name is \"./%[1]s\"", dir)
		}
		return nil
	}}
	return v
}

func (s *Server) newTool(name string) value {
	t, access := &Tool{}, &Access{}
	warm := bounds(0, maxWarm)
	warm.Keep = func(n *node, _ string) { count := int(n.Int); t.Warm = &count }
	return placed(&t.Where, value{
		Kind: show.Table,
		Keep: func(*node, string) { s.Tools[name] = t },
		Keys: []key{
			row("allow", placed(&t.allowAt, optional(&t.Allow)), "false: clients do not see the tool, and calls of it are refused.", true),
			row("access", accessTable(access, &t.Access), "What a call of this tool may touch."),
			row("warm", warm, "How many spare processes are kept ready for this tool. Without it, the server's number counts."),
		},
	})
}

func accessTable(a *Access, to **Access) value {
	return placed(&a.Where, value{Kind: show.Table, Keys: a.keys(), Keep: func(*node, string) { *to = a }})
}

func (a *Access) keys() []key {
	return []key{
		row("fs", joined(&a.Merge, "fs", list(&a.Fs, fsRule)), "Rules for files and directories."),
		row("net", joined(&a.Merge, "net", list(&a.Net, netRule)), "Rules for hosts that the server may reach."),
		row("inbound", joined(&a.Merge, "inbound", list(&a.Inbound, inboundRule)), "Ports on which programs of this machine reach the server, such as for the callback of a login. At most 64."),
		row("env", joined(&a.Merge, "env", list(&a.Env, envRule)), "Rules for environment variables."),
		row("commands", value{
			Kind: show.Table, Form: commandForm, Names: a.newCommand,
			Keep: func(*node, string) { a.Commands = map[string][]policy.CommandRule{} },
		}, "The programs that the server may start, by name or path. Without this table, it may start every program that its files allow."),
		row("workspace", placed(&a.workspaceAt, choice(&a.Workspace, "write", "read", "none")),
			"What the server may do in its workspace. Without it, nothing where the table grants something or is empty, and otherwise to write."),
		row("sensitive_paths", sensitivePaths(&a.SensitivePaths, &a.sensitiveAt), "More paths that are hidden inside wider grants: a path as in a rule, or **/NAME for any depth. "+
			"They join the built-in list."),
	}
}

// newCommand is the table of one program, or several tables in an array, which add up.
func (a *Access) newCommand(name string) value {
	var rules []policy.CommandRule
	v := oneOrMany(&rules, func(r *policy.CommandRule) value { return commandRule(name, r) }, "is an empty list: write a table for a program that may be started")
	for i, alternative := range v.Any {
		v.Any[i].Check = func(n *node) (err error) {
			if alternative.Check != nil {
				err = alternative.Check(n)
			}
			a.Commands[name] = rules
			return err
		}
	}
	return v
}

func arguments(to *[]string) value {
	v := texts(to)
	v.Write = func() string { return listText(*to, func(word string) string { return word }) }
	return v
}

// variables are names, which are forwarded.
func variables(to *[]policy.EnvRule) value {
	v := list(to, func(r *policy.EnvRule) value {
		return value{Kind: show.String, Form: variableForm, Keep: func(n *node, at string) { *r = policy.EnvRule{Name: n.Text, Read: true, Where: at} }}
	})
	v.Write = func() string { return listText(*to, func(r policy.EnvRule) string { return r.Name }) }
	return v
}

func axes(to *[]policy.Axis, among ...policy.Axis) value {
	v := list(to, func(a *policy.Axis) value {
		return value{Kind: show.String, Words: axisTexts(among), Keep: func(n *node, _ string) { *a = policy.Axis(n.Text) }}
	})
	v.Write = func() string { return listText(*to, func(a policy.Axis) string { return string(a) }) }
	return v
}

func axisTexts(axes []policy.Axis) (names []string) {
	for _, a := range axes {
		names = append(names, string(a))
	}
	return names
}

// listText writes a list that is not nil.
func listText[T any](all []T, text func(T) string) string {
	if all == nil {
		return ""
	}
	names := make([]string, len(all))
	for i, one := range all {
		names[i] = text(one)
	}
	return show.List(names)
}

// sensitivePaths is a list of paths. at gets their places.
func sensitivePaths(to *[]string, at *map[string]string) value {
	return value{
		Kind:  show.Array,
		Write: func() string { return listText(*to, func(path string) string { return path }) },
		Keep:  func(*node, string) { *to, *at = []string{}, map[string]string{} },
		Items: func() value {
			return value{Kind: show.String, Form: sensitiveForm, Keep: func(n *node, where string) {
				*to = append(*to, n.Text)
				(*at)[n.Text] = where
			}}
		},
	}
}
