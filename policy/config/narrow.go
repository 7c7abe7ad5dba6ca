package config

import (
	"fmt"
	"maps"
	"slices"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// A project's file may have a table for one of the user's servers. Such a table takes away: what is in force is
// what both allow, axis by axis (policy.Meet). An axis that it does not mention stays.

// narrowed returns the server with those settings of the project's table that are stricter than its own, or than
// those of d. ws name what else of the table has no effect.
func (s *Server) narrowed(n *Server, d *Defaults) (out *Server, ws []policy.Warning) {
	mine := d.below(s).Settings
	stricter, dropped := n.Settings.without(func(v policy.Setting) bool {
		set := settingOf(v.Key)
		return set.stricter == neutral || set.loosens(mine[v.Key].Value, v.Value)
	})
	copied := *s
	out = &copied
	out.Settings = stricter.over(s.Settings)
	for i, v := range dropped {
		dropped[i].Key = v.Key + " = " + v.Value
	}
	for _, u := range slices.Concat(dropped, n.unchangeable()) {
		ws = append(ws, policy.Warning{Code: "no-effect", Message: fmt.Sprintf("%s has no effect: server %q is your own, and a project's file only takes away from what it may do", u.Key, s.Name), Where: u.Where})
	}
	return out, ws
}

// held returns the server of a project without the settings that are weaker than those of d, or that let leaks or
// changed tools pass unseen.
func (s *Server) held(d *Defaults) (out *Server, ws []policy.Warning) {
	mine := d.below(&Server{}).Settings
	copied := *s
	out = &copied
	var dropped []policy.Setting
	out.Settings, dropped = s.Settings.without(func(v policy.Setting) bool {
		lower, has := mine[v.Key]
		return (has || v.Key == "leaks" || v.Key == "pin_tools") && settingOf(v.Key).loosens(lower.Value, v.Value)
	})
	for _, v := range dropped {
		ws = append(ws, policy.Warning{Code: "no-effect", Message: fmt.Sprintf("%s = %s has no effect: a project's file cannot weaken it", v.Key, v.Value), Where: v.Where})
	}
	return out, ws
}

// unchangeable returns the keys of a project's table that say nothing about what a server may do less.
func (s *Server) unchangeable() (keys []policy.Setting) {
	add := func(key, where string, has bool) {
		if has {
			keys = append(keys, policy.Setting{Key: key, Where: where})
		}
	}
	for _, k := range s.keys() {
		add(k.Name, s.Where, k.Value.Write != nil && k.Value.Write() != "" && k.Name != "variables" && settingOf(k.Name) == nil)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Tools)) {
		t := s.Tools[name]
		add("tools."+show.Key(name)+".warm", t.Where, t.Warm != nil)
	}
	add("variables.strategy", s.Where, s.Merge["variables"] != "")
	for _, a := range s.accesses() {
		for _, name := range slices.Sorted(maps.Keys(a.Merge)) {
			add("access."+name+".strategy", s.Where, true)
		}
		for _, r := range a.Net {
			add("the secret of "+r.Host, r.Where, len(r.Secrets) > 0)
		}
		for _, r := range a.Env {
			add("the file of "+r.Name, r.Where, r.File != "")
		}
	}
	return keys
}

// narrow returns the axes of the policy of a process, those that the table mentions as the table has them, or nil if
// it mentions none.
func (s *Server) narrow(p *policy.Policy, tool string) *policy.Policy {
	a := s.Access
	if tool != "" {
		a = s.toolAccess(tool)
	}
	if a == nil {
		a = &Access{}
	}
	if !a.isMentioned() && s.Variables == nil {
		return nil
	}
	out := &policy.Policy{Where: s.Where, Default: p.Default, Fs: slices.Concat(p.Fs, a.Fs), Inbound: p.Inbound, Commands: p.Commands}
	if a.workspaceAt != "" || grantsOrNone(a.Fs, func(r policy.FsRule) bool { return r.Rights() != 0 }) {
		out.Default, out.Fs = false, nil
		if word := a.workspace(); word != "none" {
			out.Fs = []policy.FsRule{policy.WorkspaceRule(word, a.workspaceAt)}
		}
		out.Fs = append(out.Fs, a.Fs...)
	}
	out.Sensitive = slices.Concat(p.Sensitive, a.SensitivePaths)
	if out.Net = withoutSecrets(a.Net); !grantsOrNone(a.Net, func(r policy.NetRule) bool { return r.Allow }) {
		out.Net = slices.Concat(p.Net, a.Net)
	}
	if a.Inbound != nil {
		out.Inbound = a.Inbound
	}
	env := slices.Concat(a.Env, s.Variables)
	for i := range env {
		env[i].File = "" // a project's file chooses no file of the user
	}
	for _, r := range p.Env { // the user's own file, where the project's rules let it pass
		if _, ok := policy.MatchEnv(env, r.Name); ok && r.File != "" {
			env = append(env, r)
		}
	}
	if a.Env != nil && len(env) == 0 {
		env = []policy.EnvRule{}
	}
	if out.Env = env; !grantsOrNone(env, func(r policy.EnvRule) bool { return r.Read }) {
		out.Env = slices.Concat(p.Env, env)
	}
	if a.Commands != nil {
		out.Commands = a.commandRules()
	}
	return out
}

func withoutSecrets(rules []policy.NetRule) []policy.NetRule {
	rules = slices.Clone(rules)
	for i := range rules {
		rules[i].Secrets = nil
	}
	return rules
}

func (a *Access) isMentioned() bool {
	return a.workspaceAt != "" || a.Fs != nil || a.Net != nil || a.Inbound != nil || a.Env != nil || a.Commands != nil || len(a.SensitivePaths) > 0
}

// grantsOrNone reports whether a list says all that is allowed: it grants something, or is there and empty. A
// list of refusals alone only takes away.
func grantsOrNone[T any](list []T, grants func(T) bool) bool {
	return list != nil && len(list) == 0 || slices.ContainsFunc(list, grants)
}
