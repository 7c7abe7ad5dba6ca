package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Encode returns the servers of the configuration as sorted TOML. Decoding the result gives the
// same Config, except for positions, Files and Defaults, which it does not write.
func (c *Config) Encode() []byte {
	var e encoder
	if c.Version != 0 {
		e.line("version = %d", c.Version)
	}
	if c.Servers != nil && len(c.Servers) == 0 {
		e.line("[servers]")
	}
	for _, name := range slices.Sorted(maps.Keys(c.Servers)) {
		e.server(c.Servers[name])
	}
	return []byte(e.String())
}

type encoder struct{ strings.Builder }

func (e *encoder) line(format string, args ...any) { fmt.Fprintf(e, format+"\n", args...) }

func (e *encoder) header(format string, key string) {
	if e.Len() > 0 {
		e.WriteByte('\n')
	}
	e.line(format, key)
}

func (e *encoder) limits(key string, l LimitsTable) {
	if l == (LimitsTable{}) {
		return
	}
	e.header("[%s]", key)
	e.settings(l.settings())
}

func (e *encoder) settings(all []setting) {
	for _, s := range all {
		if text := s.text(); text != "" {
			e.line("%s = %s", s.key, text)
		}
	}
}

func (e *encoder) server(s *Server) {
	key := "servers." + show.Key(s.Name)
	e.header("[%s]", key)
	e.text("id", s.ID)
	e.text("preset", s.Preset)
	e.text("command", s.Command)
	if s.Arguments != nil {
		e.list("arguments", show.List(s.Arguments), s.Merge["arguments"])
	}
	e.text("directory", s.Directory)
	e.text("workspace", s.Workspace)
	e.flag("stateful", s.Stateful)
	if s.Variables != nil {
		names := []string{}
		for _, v := range s.Variables {
			names = append(names, v.Name)
		}
		e.list("variables", show.List(names), s.Merge["variables"])
	}
	e.text("home", s.Home)
	e.settings(s.settings())
	if s.Waive != nil {
		e.list("waive", show.List(axisTexts(s.Waive)), s.Merge["waive"])
	}
	if s.Access != nil {
		e.access(key+".access", s.Access)
	}
	e.limits(key+".limits", s.Limits)
	if s.Tools != nil && len(s.Tools) == 0 {
		e.header("[%s]", key+".tools")
	}
	for _, name := range slices.Sorted(maps.Keys(s.Tools)) {
		tool := key + ".tools." + show.Key(name)
		e.header("[%s]", tool)
		e.number("warm", s.Tools[name].Warm)
		if a := s.Tools[name].Access; a != nil {
			e.access(tool+".access", a)
		}
	}
}

// access writes rules as [[tables]], as the documentation does. A list that is empty or has
// a strategy is written inside the access table.
func (e *encoder) access(key string, a *Access) {
	e.header("[%s]", key)
	e.text("workspace", a.Workspace)
	if a.SensitivePaths != nil {
		e.line("sensitive_paths = %s", show.List(a.SensitivePaths))
	}
	lists := []struct {
		name  string
		rules [][]string
		none  bool
	}{
		{"fs", pairs(a.Fs, policy.FsRule.TOMLFields), a.Fs == nil},
		{"net", pairs(a.Net, policy.NetRule.TOMLFields), a.Net == nil},
		{"inbound", pairs(a.Inbound, policy.InboundRule.TOMLFields), a.Inbound == nil},
		{"env", pairs(a.Env, policy.EnvRule.TOMLFields), a.Env == nil},
	}
	inline := func(name string, n int) bool { return n == 0 || a.Merge[name] != "" }
	for _, l := range lists {
		if l.none || !inline(l.name, len(l.rules)) {
			continue
		}
		tables := make([]string, len(l.rules))
		for i, fields := range l.rules {
			tables[i] = "{ " + strings.Join(fields, ", ") + " }"
		}
		e.list(l.name, "["+strings.Join(tables, ", ")+"]", a.Merge[l.name])
	}
	for _, l := range lists {
		if inline(l.name, len(l.rules)) {
			continue
		}
		for _, fields := range l.rules {
			e.header("[[%s]]", key+"."+l.name)
			e.line("%s", strings.Join(fields, "\n"))
		}
	}
	if a.Commands != nil && len(a.Commands) == 0 {
		e.header("[%s]", key+".commands")
	}
	for _, name := range slices.Sorted(maps.Keys(a.Commands)) {
		header := "[%s]"
		if len(a.Commands[name]) > 1 {
			header = "[[%s]]"
		}
		for _, r := range a.Commands[name] {
			e.header(header, key+".commands."+show.Key(name))
			for _, line := range r.TOMLFields() {
				e.line("%s", line)
			}
		}
	}
}

func pairs[T any](rules []T, fields func(T) []string) [][]string {
	out := make([][]string, len(rules))
	for i, r := range rules {
		out[i] = fields(r)
	}
	return out
}

func (e *encoder) text(key, value string) {
	if value != "" {
		e.line("%s = %s", key, show.TOML(value))
	}
}

func (e *encoder) flag(name string, b *bool) {
	if b != nil {
		e.line(name+" = %t", *b)
	}
}

func (e *encoder) number(key string, value *int) {
	if value != nil {
		e.line("%s = %d", key, *value)
	}
}

func (e *encoder) list(key, value string, s Strategy) {
	if s != "" {
		value = fmt.Sprintf("{ strategy = %q, value = %s }", string(s), value)
	}
	e.line("%s = %s", key, value)
}
