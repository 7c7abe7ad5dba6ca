package config

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config/internal/reader"
)

// This file has the rows of rules. What a rule writes is in package policy, which shows rules too.

func fsRule(r *policy.FsRule) value {
	var write bool
	var create, update, remove *bool
	deny := value{Any: []value{
		{Kind: show.Bool, Keep: func(n *node, _ string) {
			if n.Bool {
				r.Deny = policy.AllRights
			}
		}},
		{Kind: show.String, Words: []string{"write"}, Keep: func(*node, string) { r.Deny = policy.Write }},
	}}
	v := table(&r.Where, []key{
		needed("path", like(&r.Path, pathForm), "A path: relative to the workspace, absolute, or below the home directory with ~/. There are no patterns.", ""),
		row("read", flag(&r.Read), "Open files for reading and list directories.", false),
		row("write", flag(&write), "What create, update and delete are where they are left out.", false),
		row("create", optional(&create), "Make new files, directories and links. Without it, the value of write counts."),
		row("update", optional(&update), "Open existing files for writing. Without it, the value of write counts."),
		row("delete", optional(&remove), "Remove files and empty directories. Without it, the value of write counts."),
		row("execute", flag(&r.Execute), "Start files as programs. This needs read too.", false),
		row("deny", deny, "Take rights away, whatever other rules say. true hides the path. \"write\" keeps it from being changed. No other key but path is beside it."),
	})
	v.Check = func(n *node) error {
		// docs/policy.md "Filesystem rules": the rights that `write` means.
		either := func(b *bool) bool {
			if b != nil {
				return *b
			}
			return write
		}
		r.Create, r.Update, r.Delete = either(create), either(update), either(remove)
		switch {
		case r.Deny != 0 && len(n.Keys) > 2:
			return fmt.Errorf("path = %s has deny and other keys: a rule grants rights or takes them away. Write a second rule for the path", show.TOML(r.Path))
		case r.Deny == 0 && r.Rights() == 0:
			return fmt.Errorf("path = %s says nothing. A rule grants rights or takes them away: to hide this path, write deny = true; otherwise remove the rule", show.TOML(r.Path))
		}
		return nil
	}
	return v
}

func netRule(r *policy.NetRule) value {
	host := like(&r.Host, hostForm)
	host.Keep = func(n *node, _ string) { r.Host, _ = policy.NormalizeHost(n.Text) }
	methods := list(&r.Methods, func(to *string) value { return like(to, form{Pattern: methodPattern}) })
	methods.Empty = "is empty: leave it out for any method"
	v := table(&r.Where, []key{
		needed("host", host, "A DNS name, *.NAME for every name below it, an IP address, localhost, or * for every host.", ""),
		row("scheme", choice(&r.Scheme, "http", "https", "tcp"), "The protocol. Without it, any."),
		row("port", number(&r.Port, 1, math.MaxUint16), "The port. Without it, 80 for http, 443 for https, and both without a scheme. The scheme tcp needs one."),
		row("path_prefix", like(&r.PathPrefix, form{Pattern: prefixPattern}), "The beginning of the path of a request, compared by segments. It begins with '/'."),
		row("methods", methods, "Methods of HTTP in capitals, such as GET. Without it, any. CONNECT is refused."),
		row("secret", oneOrMany(&r.Secrets, secret, ""), "One secret, or several in an array, that mcp-jail puts into requests to this host. It needs allow = true and TLS."),
		needed("allow", flag(&r.Allow), "Allow what the rule matches; false refuses it.", ": write allow = true to grant it, or allow = false to refuse it"),
	})
	v.Check = func(*node) error {
		slices.Sort(r.Methods)
		r.Methods = slices.Compact(r.Methods)
		return policy.CheckNetRule(*r)
	}
	return v
}

// secret is checked with its rule.
func secret(s *policy.Secret) value {
	named := func(to *string, pattern string) value {
		v := word(to)
		v.Form.Pattern = pattern
		return v
	}
	command := texts(&s.Command)
	command.Empty = "is empty: write the program that prints the secret"
	header := oneOrMany(&s.Header, func(to *string) value { return named(to, headerPattern) }, "is empty: leave it out for the usual fields")
	return table(&s.Where, []key{
		needed("env", named(&s.Env, variablePattern), "The variable in which the server finds a placeholder. "+
			"Without file and command, mcp-jail takes the secret from its own variable of this name.", ""),
		row("file", named(&s.File, filePattern), "The file that has the secret."),
		row("command", command, "The program that prints the secret, with its arguments. It runs outside the jail."),
		row("header", header, "The header fields that may carry the secret. Without it, the usual ones, such as Authorization."),
	})
}

func inboundRule(r *policy.InboundRule) value {
	return table(&r.Where, []key{
		needed("port", number(&r.Port, 1, math.MaxUint16), "The port of this machine's loopback, which leads to the same port in the jail.", ""),
	})
}

func envRule(r *policy.EnvRule) value {
	file := word(&r.File)
	file.Form.Pattern = filePattern
	v := table(&r.Where, []key{
		needed("name", like(&r.Name, prefixForm), "The name of a variable, or its beginning with one '*' at the end.", ""),
		needed("read", flag(&r.Read), "Forward the variable to the server; false refuses it.", ": write read = true to grant it, or read = false to refuse it"),
		row("file", file, "A file such as .env, from which mcp-jail reads the value at each start. Without it, the value is that of mcp-jail's own environment."),
	})
	v.Check = func(*node) error { return policy.CheckEnvRule(*r) }
	return v
}

func commandRule(name string, r *policy.CommandRule) value {
	r.Name = name
	return table(&r.Where, []key{
		row("args", argumentLists(&r.Args), "Lists of words that the arguments must match whole. \"*\" is one argument, \"**\" at the end any number. Without it, any arguments will do."),
		row("envs", list(&r.Envs, func(to *string) value { return like(to, prefixForm) }), "The variables that the program gets in addition to the minimal set: names, or beginnings with one '*' at the end. "+
			"Without it, it gets those of its parent."),
	})
}

// argumentLists is a list of lists. One list may be written flat: args = ["log", "**"].
func argumentLists(to *[][]string) value {
	words := func(list *[]string) value {
		v := texts(list)
		v.Check = func(*node) error { return policy.CheckArguments(*list) }
		return v
	}
	var flat []string
	one := words(&flat)
	one.Is = func(n *node) bool {
		return slices.ContainsFunc(n.Items, func(n *node) bool { return n.Kind == show.String })
	}
	check := one.Check
	one.Check = func(n *node) error {
		*to = [][]string{flat}
		return check(n)
	}
	many := list(to, words)
	many.Empty = "is empty, and would allow no start at all: write args = [[]] for a program without arguments, or leave args out for any"
	one.Empty = many.Empty
	return value{Any: []value{one, many}}
}

type form = reader.Form

func looks(pattern string, check func(string) error) form {
	return form{Pattern: pattern, Check: check}
}

var (
	serverForm = looks(`^[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}$`, named(policy.ValidServerName,
		"the server name %q is refused: a name consists of letters, digits, '.', '_' and '-', and does not begin with '.'"))
	// idForm is that of an id, and of the key of a server without one.
	idForm = looks(serverForm.Pattern, named(policy.ValidServerName, "the id %q is refused: mcp-jail wrap makes ids, of small letters, digits and '-'"))
	// directoryForm is that of where a server starts: policy.StartInWorkspace or a path that does not depend on
	// where its client starts it.
	directoryForm = looks(`^(workspace|~|(~/|/)[^\r\n]*)$`, checkDirectory)
	commandForm   = looks(`^[^*\n]+$`, named(func(name string) bool { return name != "" && !strings.ContainsAny(name, "*\x00\n") }, "the command name %q is refused"))
	pathForm      = looks(`^(~|~/[^\r\n]*|[^~\r\n][^\r\n]*)$`, policy.CheckPath)
	sensitiveForm = looks(`^(~/[^\r\n]*|[^~\r\n][^\r\n]*)$`, policy.CheckSensitivePath)
	hostForm      = looks(`^(\*|(\*\.)?[^*@%/\\?#\x00-\x20\x7f]+)$`, func(host string) error {
		_, err := policy.NormalizeHost(host)
		return err
	})
	variableForm = looks(`^[^=*\r\n]+$`, policy.CheckVariable)
	prefixForm   = looks(`^([^=*\r\n]+\*?|\*)$`, policy.CheckEnvName)
)

// named checks a name. refusal has a place for it.
func named(valid func(string) bool, refusal string) func(string) error {
	return func(name string) error {
		if valid(name) {
			return nil
		}
		return fmt.Errorf(refusal, policy.Abbreviate(name))
	}
}

func checkDirectory(dir string) error {
	if dir == policy.StartInWorkspace {
		return nil
	}
	if dir != "~" && !strings.HasPrefix(dir, "~/") && !strings.HasPrefix(dir, "/") {
		return fmt.Errorf("the directory %q is refused: write a path from / or ~/, or \"workspace\"", policy.Abbreviate(dir))
	}
	return policy.CheckPath(dir)
}

// These patterns are for parts of a net rule. policy.CheckNetRule checks the parts, with the
// whole rule.
const (
	methodPattern   = `^[A-Z0-9_-]{1,32}$`
	prefixPattern   = `^(/[^?#\r\n]*)?$`
	variablePattern = `^[A-Za-z0-9_]{1,256}$`
	filePattern     = `^(~/|/)[^\r\n]*$`
	headerPattern   = "^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$"
)

type (
	// A Stamp tells whether the files of a configuration have changed since it was taken.
	Stamp = reader.Stamp
	// TrustStore remembers which project files the user accepted, by path and SHA-256.
	TrustStore = reader.TrustStore
	// UntrustedError reports a project file that was not accepted, or has changed since.
	UntrustedError = reader.UntrustedError
	// TrustStoreError reports a trust store that another user may have written.
	TrustStoreError = reader.TrustStoreError
)

// Suggest returns the candidate that word most likely means, or "" if none is close.
func Suggest(word string, candidates []string) string { return reader.Suggest(word, candidates) }

// Digest returns an identifier of a policy, or of a table of the configuration. It does not
// depend on places in a file.
func Digest(value any) string { return reader.Digest(value) }
