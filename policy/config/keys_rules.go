package config

import (
	"fmt"
	"math"
	"slices"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/internal/toml"
	"github.com/mcp-jail/mcp-jail/policy"
)

// This file has the rows of rules. What a rule writes is in package policy, which shows rules too.

func fsRule(r *policy.FsRule) value {
	var write bool
	var create, update, remove *bool
	deny := value{Any: []value{
		{Kind: toml.Bool, Keep: func(n *node, _ string) {
			if n.Bool {
				r.Deny = policy.AllRights
			}
		}},
		{Kind: toml.String, Words: []string{"write"}, Keep: func(*node, string) { r.Deny = policy.Write }},
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
		row("command", command, "The program that prints the secret, with its arguments. It runs outside of the jail."),
		row("header", header, "The header fields that may carry the secret. Without it, the usual ones, such as Authorization."),
	})
}

func inboundRule(r *policy.InboundRule) value {
	return table(&r.Where, []key{
		needed("port", number(&r.Port, 1, math.MaxUint16), "The port of the host's loopback, which leads to the same port in the jail.", ""),
	})
}

func envRule(r *policy.EnvRule) value {
	return table(&r.Where, []key{
		needed("name", like(&r.Name, prefixForm), "The name of a variable, or its beginning with one '*' at the end.", ""),
		needed("read", flag(&r.Read), "Forward the variable to the server; false refuses it.", ": write read = true to grant it, or read = false to refuse it"),
	})
}

func commandRule(name string, r *policy.CommandRule) value {
	r.Name = name
	return table(&r.Where, []key{
		row("args", argumentLists(&r.Args), "Lists of words that the arguments must match whole. \"*\" is one argument, \"**\" at the end any number. Without it, any arguments will do."),
		row("envs", list(&r.Envs, func(to *string) value { return like(to, prefixForm) }), "The variables that the program gets besides the minimal set: names, or beginnings with one '*' at the end. "+
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
		return slices.ContainsFunc(n.Items, func(n *node) bool { return n.Kind == toml.String })
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
