package policy

import (
	"fmt"
	"strconv"
	"strings"
)

// Encode writes the configuration as TOML: sorted, with the same meaning, and
// stable: decode, encode, decode yields the same Config but for the places.
func (c *Config) Encode() []byte {
	var e encoder
	if c.Version != 0 {
		e.line("version = %d", c.Version)
	}
	if c.Servers != nil && len(c.Servers) == 0 {
		e.line("[servers]")
	}
	for _, name := range sortedKeys(c.Servers) {
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

func (e *encoder) server(s *Server) {
	key := "servers." + bareOrQuoted(s.Name)
	e.header("[%s]", key)
	e.text("command", s.Command)
	if s.Arguments != nil {
		e.list("arguments", tomlStrings(s.Arguments), s.Merge["arguments"])
	}
	e.text("workspace", s.Workspace)
	if s.Stateful != nil {
		e.line("stateful = %t", *s.Stateful)
	}
	if s.Variables != nil {
		names := []string{}
		for _, v := range s.Variables {
			names = append(names, v.Name)
		}
		e.list("variables", tomlStrings(names), s.Merge["variables"])
	}
	e.text("home", s.Home)
	e.number("startup_timeout_secs", s.StartupTimeoutSecs)
	e.number("call_timeout_secs", s.CallTimeoutSecs)
	e.text("roots", s.Roots)
	if s.Advertise != nil {
		e.line("advertise = %t", *s.Advertise)
	}
	e.text("description", s.Description)
	if s.Waive != nil {
		names := []string{}
		for _, a := range s.Waive {
			names = append(names, string(a))
		}
		e.list("waive", tomlStrings(names), s.Merge["waive"])
	}
	e.number("warm", s.Warm)
	e.number("max_concurrent_calls", s.MaxConcurrentCalls)
	if s.Access != nil {
		e.access(key+".access", s.Access)
	}
	if s.Limits != (LimitsTable{}) {
		e.header("[%s]", key+".limits")
		e.number("memory_mb", s.Limits.MemoryMB)
		e.number("processes", s.Limits.Processes)
		e.number("open_files", s.Limits.OpenFiles)
		e.number("file_size_mb", s.Limits.FileSizeMB)
		e.number("message_mb", s.Limits.MessageMB)
		e.number("net_out_mb", s.Limits.NetOutMB)
		e.number("connections", s.Limits.Connections)
	}
	if s.Tools != nil && len(s.Tools) == 0 {
		e.header("[%s]", key+".tools")
	}
	for _, name := range sortedKeys(s.Tools) {
		tool := key + ".tools." + bareOrQuoted(name)
		e.header("[%s]", tool)
		e.number("warm", s.Tools[name].Warm)
		if a := s.Tools[name].Access; a != nil {
			e.access(tool+".access", a)
		}
	}
}

// access writes rules as [[tables]], as the documentation does; a list that is
// empty or has a strategy has to be written inside the access table.
func (e *encoder) access(key string, a *Access) {
	e.header("[%s]", key)
	if a.SensitivePaths != nil {
		e.line("sensitive_paths = %s", tomlStrings(a.SensitivePaths))
	}
	lists := []struct {
		name  string
		rules [][]string
		none  bool
	}{
		{"fs", pairs(a.Fs, FsRule.fields), a.Fs == nil},
		{"net", pairs(a.Net, NetRule.fields), a.Net == nil},
		{"inbound", pairs(a.Inbound, InboundRule.fields), a.Inbound == nil},
		{"env", pairs(a.Env, EnvRule.fields), a.Env == nil},
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
	for _, name := range sortedKeys(a.Commands) {
		r := a.Commands[name]
		e.header("[%s]", key+".commands."+bareOrQuoted(name))
		if r.Args != nil {
			lists := make([]string, len(r.Args))
			for i, prefix := range r.Args {
				lists[i] = tomlStrings(prefix)
			}
			e.line("args = [%s]", strings.Join(lists, ", "))
		}
		if r.Envs != nil {
			e.line("envs = %s", tomlStrings(r.Envs))
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

func (r FsRule) fields() []string {
	out := []string{"path = " + tomlString(r.Path)}
	flag := func(name string, set bool) {
		if set {
			out = append(out, name+" = true")
		}
	}
	flag("read", r.Read)
	if r.Create && r.Update && r.Delete {
		flag("write", true)
	} else {
		flag("create", r.Create)
		flag("update", r.Update)
		flag("delete", r.Delete)
	}
	flag("execute", r.Execute)
	return out
}

func (r NetRule) fields() []string {
	out := []string{"host = " + tomlString(r.Host)}
	if r.Scheme != "" {
		out = append(out, "scheme = "+tomlString(r.Scheme))
	}
	if r.Port != 0 {
		out = append(out, "port = "+strconv.Itoa(r.Port))
	}
	if r.PathPrefix != "" {
		out = append(out, "path_prefix = "+tomlString(r.PathPrefix))
	}
	if len(r.Methods) > 0 {
		out = append(out, "methods = "+tomlStrings(r.Methods))
	}
	secrets := make([]string, len(r.Secrets))
	for i, s := range r.Secrets {
		secrets[i] = s.toml()
	}
	if secret := strings.Join(secrets, ", "); len(secrets) == 1 {
		out = append(out, "secret = "+secret)
	} else if secret != "" {
		out = append(out, "secret = ["+secret+"]")
	}
	if r.Allow {
		out = append(out, "allow = true")
	}
	return out
}

func (s Secret) toml() string {
	out := "{ env = " + tomlString(s.Env)
	if s.File != "" {
		out += ", file = " + tomlString(s.File)
	}
	if s.Command != nil {
		out += ", command = " + tomlStrings(s.Command)
	}
	if len(s.Header) == 1 {
		out += ", header = " + tomlString(s.Header[0])
	} else if s.Header != nil {
		out += ", header = " + tomlStrings(s.Header)
	}
	return out + " }"
}

func (r InboundRule) fields() []string { return []string{"port = " + strconv.Itoa(r.Port)} }

func (r EnvRule) fields() []string {
	out := []string{"name = " + tomlString(r.Name)}
	if r.Read {
		out = append(out, "read = true")
	}
	return out
}

func (e *encoder) text(key, value string) {
	if value != "" {
		e.line("%s = %s", key, tomlString(value))
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

func tomlStrings(values []string) string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = tomlString(v)
	}
	return "[" + strings.Join(out, ", ") + "]"
}

// tomlString quotes s as a TOML basic string.
func tomlString(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < 0x20 || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// TOML writes the rule as the lines that a configuration would have:
// what a diagnosis tells the user to add.
func (r FsRule) TOML(table string) []string { return block(table, "fs", r.fields()) }

// TOML is the same for a network rule.
func (r NetRule) TOML(table string) []string { return block(table, "net", r.fields()) }

// TOML is the same for an env rule.
func (r EnvRule) TOML(table string) []string { return block(table, "env", r.fields()) }

func block(table, axis string, fields []string) []string {
	return append([]string{"[[" + table + "." + axis + "]]"}, fields...)
}
