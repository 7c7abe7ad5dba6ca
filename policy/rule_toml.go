package policy

import (
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
)

// TOMLFields returns the rule's fields as TOML assignments.
func (r FsRule) TOMLFields() []string {
	out := []string{"path = " + show.TOML(r.Path)}
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
	flag("deny", r.Deny == AllRights)
	if r.Deny == Write {
		out = append(out, `deny = "write"`)
	}
	return out
}

// TOMLFields returns the rule's fields as TOML assignments.
func (r NetRule) TOMLFields() []string {
	out := []string{"host = " + show.TOML(r.Host)}
	if r.Scheme != "" {
		out = append(out, "scheme = "+show.TOML(r.Scheme))
	}
	if r.Port != 0 {
		out = append(out, "port = "+strconv.Itoa(r.Port))
	}
	if r.PathPrefix != "" {
		out = append(out, "path_prefix = "+show.TOML(r.PathPrefix))
	}
	if len(r.Methods) > 0 {
		out = append(out, "methods = "+show.List(r.Methods))
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
	return append(out, "allow = "+strconv.FormatBool(r.Allow))
}

func (s Secret) toml() string {
	out := "{ env = " + show.TOML(s.Env)
	if s.File != "" {
		out += ", file = " + show.TOML(s.File)
	}
	if s.Command != nil {
		out += ", command = " + show.List(s.Command)
	}
	if len(s.Header) == 1 {
		out += ", header = " + show.TOML(s.Header[0])
	} else if s.Header != nil {
		out += ", header = " + show.List(s.Header)
	}
	return out + " }"
}

// TOMLFields returns the rule's fields as TOML assignments.
func (r InboundRule) TOMLFields() []string { return []string{"port = " + strconv.Itoa(r.Port)} }

// TOMLFields returns the rule's fields as TOML assignments.
func (r EnvRule) TOMLFields() []string {
	return []string{"name = " + show.TOML(r.Name), "read = " + strconv.FormatBool(r.Read)}
}

// TOMLFields returns the rule's fields as TOML assignments.
func (r CommandRule) TOMLFields() (out []string) {
	if r.Args != nil {
		lists := make([]string, len(r.Args))
		for i, list := range r.Args {
			lists[i] = show.List(list)
		}
		out = append(out, "args = ["+strings.Join(lists, ", ")+"]")
	}
	if r.Envs != nil {
		out = append(out, "envs = "+show.List(r.Envs))
	}
	return out
}

// JoinKey returns a dotted key as TOML writes it.
func JoinKey(parts []string) string {
	out := make([]string, len(parts))
	for i, p := range parts {
		out[i] = show.Key(Abbreviate(p))
	}
	return strings.Join(out, ".")
}

// Abbreviate shortens a text for a message, so that a hostile one cannot fill it.
func Abbreviate(s string) string { return show.Abbreviate(s) }
