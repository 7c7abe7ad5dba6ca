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

// values writes those of some keys that are one value.
func (e *encoder) values(keys []key) {
	for _, k := range keys {
		if k.Value.Write == nil {
			continue
		}
		if text := k.Value.Write(); text != "" {
			e.line("%s = %s", k.Name, text)
		}
	}
}

func (e *encoder) server(s *Server) {
	at := "servers." + show.Key(s.Name)
	e.header("[%s]", at)
	e.values(s.keys())
	if s.Access != nil {
		e.access(at+".access", s.Access)
	}
	if s.Settings.HasLimits() {
		e.header("[%s]", at+".limits")
		e.values(s.Settings.limits().Value.Keys)
	}
	if s.Tools != nil && len(s.Tools) == 0 {
		e.header("[%s]", at+".tools")
	}
	for _, name := range slices.Sorted(maps.Keys(s.Tools)) {
		tool := at + ".tools." + show.Key(name)
		e.header("[%s]", tool)
		if allow := s.Tools[name].Allow; allow != nil {
			e.line("allow = %v", *allow)
		}
		if warm := s.Tools[name].Warm; warm != nil {
			e.line("warm = %d", *warm)
		}
		if a := s.Tools[name].Access; a != nil {
			e.access(tool+".access", a)
		}
	}
}

// access writes rules as [[tables]], as the documentation does. A list that is empty or has
// a strategy is written inside the access table.
func (e *encoder) access(at string, a *Access) {
	e.header("[%s]", at)
	e.values(a.keys())
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
		e.line("%s = %s", l.name, joinedText("["+strings.Join(tables, ", ")+"]", a.Merge[l.name]))
	}
	for _, l := range lists {
		if inline(l.name, len(l.rules)) {
			continue
		}
		for _, fields := range l.rules {
			e.header("[[%s]]", at+"."+l.name)
			e.line("%s", strings.Join(fields, "\n"))
		}
	}
	if a.Commands != nil && len(a.Commands) == 0 {
		e.header("[%s]", at+".commands")
	}
	for _, name := range slices.Sorted(maps.Keys(a.Commands)) {
		header := "[%s]"
		if len(a.Commands[name]) > 1 {
			header = "[[%s]]"
		}
		for _, r := range a.Commands[name] {
			e.header(header, at+".commands."+show.Key(name))
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
