package policy

import (
	"fmt"
	"strconv"
	"strings"
)

func (r FsRule) Fields() []string {
	out := []string{"path = " + TomlString(r.Path)}
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

func (r NetRule) Fields() []string {
	out := []string{"host = " + TomlString(r.Host)}
	if r.Scheme != "" {
		out = append(out, "scheme = "+TomlString(r.Scheme))
	}
	if r.Port != 0 {
		out = append(out, "port = "+strconv.Itoa(r.Port))
	}
	if r.PathPrefix != "" {
		out = append(out, "path_prefix = "+TomlString(r.PathPrefix))
	}
	if len(r.Methods) > 0 {
		out = append(out, "methods = "+TomlStrings(r.Methods))
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
	out := "{ env = " + TomlString(s.Env)
	if s.File != "" {
		out += ", file = " + TomlString(s.File)
	}
	if s.Command != nil {
		out += ", command = " + TomlStrings(s.Command)
	}
	if len(s.Header) == 1 {
		out += ", header = " + TomlString(s.Header[0])
	} else if s.Header != nil {
		out += ", header = " + TomlStrings(s.Header)
	}
	return out + " }"
}

func (r InboundRule) Fields() []string { return []string{"port = " + strconv.Itoa(r.Port)} }

func (r EnvRule) Fields() []string {
	out := []string{"name = " + TomlString(r.Name)}
	if r.Read {
		out = append(out, "read = true")
	}
	return out
}

func TomlStrings(values []string) string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = TomlString(v)
	}
	return "[" + strings.Join(out, ", ") + "]"
}

// tomlString quotes s as a TOML basic string.
func TomlString(s string) string {
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
func (r FsRule) TOML(table string) []string { return block(table, "fs", r.Fields()) }

// TOML is the same for a network rule.
func (r NetRule) TOML(table string) []string { return block(table, "net", r.Fields()) }

// TOML is the same for an env rule.
func (r EnvRule) TOML(table string) []string { return block(table, "env", r.Fields()) }

func block(table, axis string, fields []string) []string {
	return append([]string{"[[" + table + "." + axis + "]]"}, fields...)
}
