package config

import (
	"cmp"
	"fmt"
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
	Texts  []string // what such a server gets, and what is taken away from one of the user's own
}

// Changes returns what a project's file declares, and what it takes away. after is the configuration with
// the file, and before the one without it. If before is nil, after is that file alone. Presets have been laid
// below both.
func Changes(before, after *Config) (all []ServerChange, err error) {
	for _, name := range after.ServerNames() {
		s := after.Servers[name]
		c := ServerChange{Server: name}
		own := before == nil || s.Project != ""
		if !own && after.narrowing[name] == nil {
			continue
		}
		if own {
			c.Starts = append([]string{s.Command}, s.Arguments...)
		}
		c.Texts, err = after.processTexts(s, func(p *policy.Policy) []string {
			if own {
				grants, _ := ruleTexts(p)
				return grants
			}
			texts := taken(p)
			for _, ch := range Compare(before.process(before.Servers[name], p.Tool), p) {
				texts = append(texts, ch.Text)
			}
			return texts
		})
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

// processTexts returns the texts for each process of a server, once.
func (c *Config) processTexts(s *Server, of func(p *policy.Policy) []string) (texts []string, err error) {
	all, err := c.Processes(s.Name)
	for _, p := range all {
		for _, text := range of(p) {
			if text = toolLabel(s, p.Tool) + text; !slices.Contains(texts, text) {
				texts = append(texts, text)
			}
		}
	}
	return texts, err
}

// Processes returns the policy of each process of a server: its own, and if each tool has one, that of the tools with rules
// of their own and of all others.
func (c *Config) Processes(server string) (all []*policy.Policy, err error) {
	tools := []string{""}
	if s := c.Servers[server]; s != nil && !s.IsStateful() {
		tools = append(append(tools, AnyTool), c.ToolsWithTable(server)...)
	}
	for _, tool := range tools {
		p, err := c.Policy(server, tool)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
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
	grants := func(axis policy.Policy) []string { out, _ := ruleTexts(&axis); return out }
	allBut("all files", grants(policy.Policy{Fs: p.Fs}), grants(policy.Policy{Fs: n.Fs}))
	allBut("all hosts", grants(policy.Policy{Net: withoutSecrets(p.Net)}), grants(policy.Policy{Net: n.Net}))
	allBut("all ports", grants(policy.Policy{Inbound: p.Inbound}), grants(policy.Policy{Inbound: n.Inbound}))
	allBut("all variables", grants(policy.Policy{Env: p.Env}), grants(policy.Policy{Env: n.Env}))
	if n.Commands != nil {
		own := []string{"its own"}
		allBut("all programs", append(own, commandTexts(p.Commands)...), append(own, commandTexts(n.Commands)...))
	}
	_, had := ruleTexts(p)
	_, has := ruleTexts(n)
	return append(texts, slices.DeleteFunc(has, func(text string) bool { return slices.Contains(had, text) })...)
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

// Gained returns in words what the rules of a policy give, and those of another do not.
func Gained(before, after *policy.Policy) []string {
	gave, _ := ruleTexts(before)
	gives, _ := ruleTexts(after)
	return slices.DeleteFunc(gives, func(text string) bool { return slices.Contains(gave, text) })
}

// Compare returns what differs between two policies beside the rules for files, hosts, ports and variables.
func Compare(before, after *policy.Policy) (all []Change) {
	home := map[bool]string{true: `"real"`, false: `"private"`}
	for _, f := range []struct {
		text, was, is string
		loosens       bool
	}{
		{"command ", before.Command, after.Command, true},
		{"arguments ", show.Spelled(before.Arguments), show.Spelled(after.Arguments), true},
		{"project folder ", before.Workspace, after.Workspace, true},
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
		compareCommands(before, after),
		compareSwitches(before.Tools, after.Tools),
		listChanges(axisTexts(before.Waive), axisTexts(after.Waive), true, "waived ", "no longer: accepted "),
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

func compareSwitches(before, after policy.Switches) (all []Change) {
	state := map[bool]string{true: "off", false: "on"}
	for _, s := range slices.Concat(after, before) {
		_, was := before.Off(s.Tool)
		_, is := after.Off(s.Tool)
		if ch := (Change{s.Name() + " is " + state[was] + "; new: " + state[is], was}); was != is && !slices.Contains(all, ch) {
			all = append(all, ch)
		}
	}
	return all
}

func compareSettings(before, after *policy.Policy) (all []Change) {
	value := func(p *policy.Policy, key string) string {
		for _, s := range p.Settings {
			if s.Key == key {
				return s.Value
			}
		}
		return ""
	}
	for _, set := range settings {
		had, has := value(before, set.Name), value(after, set.Name)
		if had == has {
			continue
		}
		text := set.Name + " = " + cmp.Or(has, "the default")
		if had != "" {
			text += " (was " + had + ")"
		}
		all = append(all, Change{text, set.loosens(had, has)})
	}
	return all
}

// ruleTexts describes what the rules of a policy grant, with what mcp-jail reads and runs outside of every jail for
// secrets, and what they refuse.
func ruleTexts(p *policy.Policy) (grants, refusals []string) {
	grant := func(format string, args ...any) { grants = append(grants, fmt.Sprintf(format, args...)) }
	refuse := func(text string) { refusals = append(refusals, text) }
	for _, r := range p.Env {
		switch {
		case !r.Read:
			refuse("the variable " + r.Name)
		case r.File != "":
			grant("variable %s, which mcp-jail reads from %s", r.Name, placeText(r.File))
		default:
			grant("variable %s", r.Name)
		}
	}
	for _, r := range p.Fs {
		switch {
		case r.Where == policy.DefaultSource:
			grant("the project folder (read write)")
		case r.Deny == policy.Write:
			refuse("writing " + placeText(r.Path))
		case r.Deny != 0:
			refuse(placeText(r.Path))
		case r.Rights() != 0:
			grants = append(grants, rightsText(placeText(r.Path), r.Rights()))
		}
	}
	for _, r := range p.Net {
		switch names := r.SecretNames(); {
		case !r.Allow:
			refuse(hostText(r))
		case len(names) > 0:
			grant("%s (with the secret %s)", hostText(r), strings.Join(names, ", "))
		default:
			grants = append(grants, hostText(r))
		}
		for _, s := range r.Secrets {
			switch {
			case s.File != "":
				grant("%s gets the content of a file, as the secret %s: %s", r.Host, s.Env, s.File)
			case s.Command != nil:
				grant("runs outside the jail, for the secret %s: %s", s.Env, strings.Join(s.Command, " "))
			}
		}
	}
	for _, r := range p.Inbound {
		grant("inbound port %d", r.Port)
	}
	for _, s := range p.Sensitive {
		refuse("the sensitive file " + s)
	}
	return grants, refusals
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

// placeText returns a path as it is written, but for that of the workspace.
func placeText(path string) string {
	if path == "." {
		return "the project folder"
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
