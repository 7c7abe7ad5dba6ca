package config

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// A Change is one thing that differs between two policies, in words.
type Change struct {
	Text    string
	Loosens bool // the server may do more, or it is not certain that it may not
}

// ServerChange describes what a project's file makes of one server.
type ServerChange struct {
	Server string
	Starts []string // the command line of a server that the file declares; nil for one of the user's own
	Takes  []string // what it takes away from one of the user's own
}

// Changes returns what a project's file declares, and what it takes away. after is the configuration with
// the file, and before the one without it. If before is nil, after is that file alone. Presets have been laid
// below both.
func Changes(before, after *Config) (all []ServerChange, err error) {
	for _, name := range after.ServerNames() {
		s := after.Servers[name]
		c := ServerChange{Server: name}
		switch {
		case before == nil || s.Project != "":
			c.Starts = append([]string{s.Command}, s.Arguments...)
		case after.narrowing[name] == nil:
			continue
		default:
			if c.Takes, err = after.takes(before, name); err != nil {
				return nil, err
			}
		}
		all = append(all, c)
	}
	return all, nil
}

// takes returns what a project's table takes away from a server of the user, and from each of its processes.
func (c *Config) takes(before *Config, name string) (texts []string, err error) {
	s := c.Servers[name]
	tools := []string{""}
	if !s.IsStateful() {
		tools = append(append(tools, AnyTool), c.ToolsWithTable(name)...)
	}
	for _, tool := range tools {
		p, err := c.Policy(name, tool)
		if err != nil {
			return nil, err
		}
		taken := taken(p)
		for _, ch := range ComparePolicies(before.process(before.Servers[name], tool), p) {
			taken = append(taken, ch.Text)
		}
		for _, text := range taken {
			if text = toolLabel(s, tool) + text; !slices.Contains(texts, text) {
				texts = append(texts, text)
			}
		}
	}
	return texts, nil
}

// taken returns what the axes of another policy take away.
func taken(p *policy.Policy) (texts []string) {
	n := p.Narrow
	if n == nil {
		return nil
	}
	allBut := func(what string, had, kept []string) {
		if slices.Equal(had, kept) {
			return
		}
		if len(kept) > 0 {
			what += " but " + strings.Join(kept, ", ")
		}
		texts = append(texts, what)
	}
	allBut("all files", fsTexts(p.Fs), fsTexts(n.Fs))
	allBut("all hosts", netTexts(withoutSecrets(p.Net)), netTexts(n.Net))
	allBut("all ports", inboundTexts(p.Inbound), inboundTexts(n.Inbound))
	allBut("all variables", envTexts(p.Env), envTexts(n.Env))
	if n.Commands != nil {
		own := []string{"its own"}
		allBut("all programs", append(own, commandTexts(p.Commands)...), append(own, commandTexts(n.Commands)...))
	}
	had := refusalTexts(p)
	return append(texts, slices.DeleteFunc(refusalTexts(n), func(text string) bool { return slices.Contains(had, text) })...)
}

func toolLabel(s *Server, tool string) string {
	switch {
	case s.IsStateful():
		return ""
	case tool == "":
		return "tools without a table: "
	case tool == AnyTool:
		return "every other tool: "
	}
	return "tool " + tool + ": "
}

// ComparePolicies returns what differs between two policies.
func ComparePolicies(before, after *policy.Policy) (all []Change) {
	home := map[bool]string{true: `"real"`, false: `"private"`}
	for _, f := range []struct {
		text, was, is string
		loosens       bool
	}{
		{"command ", before.Command, after.Command, true},
		{"arguments ", show.Spelled(before.Arguments), show.Spelled(after.Arguments), true},
		{"workspace ", before.Workspace, after.Workspace, true},
		{"stateful ", fmt.Sprint(before.Stateful), fmt.Sprint(after.Stateful), true},
		{"warm ", strconv.Itoa(before.Warm), strconv.Itoa(after.Warm), false},
		{"home = ", home[before.HomeReal], home[after.HomeReal], after.HomeReal},
	} {
		if f.was != f.is {
			text := f.text + f.is
			if !slices.Contains([]string{"", "false", "0", `"private"`, `"real"`}, f.was) {
				text += " (was " + f.was + ")"
			}
			all = append(all, Change{text, f.loosens})
		}
	}
	return slices.Concat(all,
		listChanges(grantTexts(before), grantTexts(after), true, "", "no longer: "),
		listChanges(refusalTexts(before), refusalTexts(after), false, "refuses ", "no longer refuses "),
		compareCommands(before, after),
		listChanges(waivedTexts(before), waivedTexts(after), true, "", "no longer: "),
		compareSettings(before, after))
}

func listChanges(had, has []string, loosens bool, gain, loss string) (all []Change) {
	for _, text := range has {
		if !slices.Contains(had, text) {
			all = append(all, Change{gain + text, loosens})
		}
	}
	for _, text := range had {
		if !slices.Contains(has, text) {
			all = append(all, Change{loss + text, !loosens})
		}
	}
	return all
}

func compareCommands(before, after *policy.Policy) []Change {
	texts := func(p *policy.Policy) (out []string) {
		for _, text := range commandTexts(p.Commands) {
			out = append(out, "may start "+text)
		}
		return out
	}
	switch {
	case before.Commands == nil && after.Commands == nil:
		return nil
	case after.Commands == nil:
		return []Change{{"may start any program", true}}
	case before.Commands == nil:
		return append([]Change{{"may start no program but its own and those listed", false}}, listChanges(nil, texts(after), false, "", "")...)
	}
	return listChanges(texts(before), texts(after), true, "", "no longer: ")
}

func compareSettings(before, after *policy.Policy) (all []Change) {
	values := func(p *policy.Policy) map[string]string {
		out := map[string]string{}
		for _, s := range p.Settings {
			if s.Key != "env" && s.Key != "sensitive_paths" { // their rules are compared
				out[s.Key] = s.Value
			}
		}
		return out
	}
	had, has := values(before), values(after)
	keys := maps.Clone(had)
	maps.Copy(keys, has)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if had[key] == has[key] {
			continue
		}
		text := key + " = " + cmp.Or(has[key], "the default")
		if had[key] != "" {
			text += " (was " + had[key] + ")"
		}
		set := settingOf(key)
		all = append(all, Change{text, set == nil || set.loosens(had[key], has[key])})
	}
	return all
}

// grantTexts describes what a policy grants, with the files that mcp-jail reads and the programs that it runs outside
// of every jail for secrets.
func grantTexts(p *policy.Policy) []string {
	out := slices.Concat(envTexts(p.Env), fsTexts(p.Fs), netTexts(p.Net), inboundTexts(p.Inbound))
	for _, r := range p.Net {
		for _, s := range r.Secrets {
			switch {
			case s.File != "":
				out = append(out, fmt.Sprintf("%s gets the content of a file, as the secret %s: %s", r.Host, s.Env, s.File))
			case s.Command != nil:
				out = append(out, fmt.Sprintf("runs outside of the jail, for the secret %s: %s", s.Env, strings.Join(s.Command, " ")))
			}
		}
	}
	return out
}

func fsTexts(rules []policy.FsRule) (out []string) {
	for _, r := range rules {
		switch {
		case r.Where == policy.DefaultSource:
			out = append(out, "the default policy: the workspace (read write)")
		case r.Rights() != 0:
			out = append(out, rightsText(placeText(r.Path), r.Rights()))
		}
	}
	return out
}

func netTexts(rules []policy.NetRule) (out []string) {
	for _, r := range rules {
		if !r.Allow {
			continue
		}
		host := hostText(r)
		if names := r.SecretNames(); len(names) > 0 {
			host += " (with the secret " + strings.Join(names, ", ") + ")"
		}
		out = append(out, host)
	}
	return out
}

func inboundTexts(rules []policy.InboundRule) (out []string) {
	for _, r := range rules {
		out = append(out, fmt.Sprintf("inbound port %d", r.Port))
	}
	return out
}

func envTexts(rules []policy.EnvRule) (out []string) {
	for _, r := range rules {
		if r.Read {
			out = append(out, "variable "+r.Name)
		}
	}
	return out
}

func commandTexts(rules []policy.CommandRule) (out []string) {
	for _, r := range rules {
		text := r.Name
		for i, list := range r.Args {
			text += []string{" with ", " or "}[min(i, 1)] + show.List(list)
		}
		if r.Envs != nil {
			text += ", which gets the variables " + show.List(r.Envs)
		}
		out = append(out, text)
	}
	return out
}

func waivedTexts(p *policy.Policy) (out []string) {
	for _, axis := range p.Waive {
		out = append(out, "waived "+string(axis))
	}
	return out
}

func refusalTexts(p *policy.Policy) (out []string) {
	for _, r := range p.Fs {
		switch r.Deny {
		case policy.AllRights:
			out = append(out, placeText(r.Path))
		case policy.Write:
			out = append(out, "writing "+placeText(r.Path))
		}
	}
	for _, r := range p.Net {
		if !r.Allow {
			out = append(out, hostText(r))
		}
	}
	for _, r := range p.Env {
		if !r.Read {
			out = append(out, "the variable "+r.Name)
		}
	}
	for _, s := range p.Sensitive {
		out = append(out, "the sensitive path "+s)
	}
	return out
}

// placeText returns a path as it is written, but for that of the workspace.
func placeText(path string) string {
	if path == "." {
		return "the workspace"
	}
	return path
}

func rightsText(path string, rights policy.Rights) string {
	return fmt.Sprintf("%s (%s)", path, rights)
}

// hostText describes the target of a rule.
func hostText(r policy.NetRule) string {
	host := r.Host
	if r.Port != 0 {
		host = net.JoinHostPort(host, strconv.Itoa(r.Port))
	}
	var only []string
	if r.Scheme != "" && !(r.Scheme == "https" && len(r.Secrets) > 0) { // a secret needs https
		only = append(only, r.Scheme)
	}
	if r.PathPrefix != "" {
		only = append(only, "the path "+r.PathPrefix)
	}
	if only = append(only, r.Methods...); len(only) > 0 {
		host += " (only " + strings.Join(only, ", ") + ")"
	}
	return host
}
