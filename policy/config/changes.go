package config

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// A Change is what a project's file makes of one thing in the policy of a server, in words.
type Change struct {
	Text    string
	Loosens bool // the server may do more, or it is not certain that it may not
}

// ServerChange describes what a project's file makes of one server.
type ServerChange struct {
	Server  string
	Starts  []string // the command line of a server that the file declares; nil for one of the user's own
	Changes []Change // loosenings first; one of the user's own has none
}

// Changes returns what a project's file declares, and what it takes away. after is the configuration with
// the file, and before the one without it. If before is nil, after is that file alone. Presets have been laid
// below both.
func Changes(before, after *Config) (all []ServerChange, err error) {
	for _, name := range after.ServerNames() {
		s := after.Servers[name]
		own := before == nil || s.Project != ""
		if !own && after.narrowing[name] == nil {
			continue
		}
		c := ServerChange{Server: name}
		if own {
			c.Starts = append([]string{s.Command}, s.Arguments...)
		}
		if own && s.Preset != "" {
			c.Changes = append(c.Changes, Change{"preset " + s.Preset, true})
		}
		// Only whole processes are compared: which table a rule is in changes nothing by itself.
		for _, tool := range after.processes(before, name) {
			p, err := after.Policy(name, tool)
			if err != nil {
				return nil, err
			}
			var changes []Change
			if own {
				changes = append(ComparePolicies(after.nothing(s, tool), p), denied(p, "your own configuration denies it %s")...)
			} else {
				changes = append(takings(p), ComparePolicies(before.processOf(name, tool), p)...)
			}
			for _, ch := range changes {
				ch.Loosens = ch.Loosens && own
				if ch.Text = toolLabel(s, tool) + ch.Text; !slices.Contains(c.Changes, ch) {
					c.Changes = append(c.Changes, ch)
				}
			}
		}
		slices.SortStableFunc(c.Changes, func(a, b Change) int { return cmp.Compare(strictness(a), strictness(b)) })
		all = append(all, c)
	}
	return all, nil
}

// takings returns what a project's table takes away from a policy of the user.
func takings(p *policy.Policy) (all []Change) {
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
		all = append(all, Change{Text: what})
	}
	grants := func(p policy.Policy) []string { return grantTexts(&p) }
	allBut("all files", grants(policy.Policy{Fs: p.Fs}), grants(policy.Policy{Fs: n.Fs}))
	allBut("all hosts", grants(policy.Policy{Net: withoutSecrets(p.Net)}), grants(policy.Policy{Net: n.Net}))
	allBut("all ports", grants(policy.Policy{Inbound: p.Inbound}), grants(policy.Policy{Inbound: n.Inbound}))
	allBut("all variables", grants(policy.Policy{Env: p.Env}), grants(policy.Policy{Env: n.Env}))
	if n.Commands != nil {
		own := []string{"its own"}
		allBut("all programs", append(own, commandTexts(p.Commands)...), append(own, commandTexts(n.Commands)...))
	}
	return append(all, denied(p, "%s")...)
}

// denied returns what another table denies to a policy.
func denied(p *policy.Policy, format string) (all []Change) {
	if p.Narrow == nil {
		return nil
	}
	had := refusalTexts(p)
	for _, text := range refusalTexts(p.Narrow) {
		if !slices.Contains(had, text) {
			all = append(all, Change{Text: fmt.Sprintf(format, text)})
		}
	}
	return all
}

func strictness(c Change) int {
	if c.Loosens {
		return 0
	}
	return 1
}

// processes returns the tools of a server whose policies are compared; "" is the whole server, or the
// process for tools without a table.
func (c *Config) processes(before *Config, name string) []string {
	tools := map[string]bool{"": true}
	for _, s := range []*Server{c.Servers[name], before.server(name)} {
		if s != nil && !c.Servers[name].IsStateful() {
			for tool := range s.Tools {
				tools[tool] = true
			}
		}
	}
	if n := c.narrowing[name]; n != nil && !c.Servers[name].IsStateful() {
		for tool := range n.Tools {
			tools[tool] = true
		}
	}
	return slices.Sorted(maps.Keys(tools))
}

func (c *Config) server(name string) *Server {
	if c == nil {
		return nil
	}
	return c.Servers[name]
}

func (c *Config) processOf(name, tool string) *policy.Policy {
	s := c.Servers[name]
	if s.IsStateful() {
		tool = ""
	}
	return c.process(s, tool)
}

func (c *Config) nothing(s *Server, tool string) *policy.Policy {
	p := c.process(&Server{Name: s.Name, Project: cmp.Or(s.Project, s.Where)}, tool)
	p.Default, p.Fs, p.Command, p.Arguments, p.Stateful = false, nil, s.Command, s.Arguments, s.IsStateful()
	return p
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

// ignoredFields are the fields of a policy that say nothing of what a server may do, and those that
// follow from others.
var ignoredFields = map[string]string{
	"Server": "the name", "Tool": "the name", "Where": "a place", "FromCommandLine": "of flags", "Project": "see ServerChange.Starts",
	"Others": "other servers", "Noted": "other servers", "Kept": "other servers", "UnusedKeys": "warnings", "Narrow": "see takings",
	"Default": "its rule is in Fs", "ID": "no project's file has one", "Key": "a name", "StartIn": "no project's file has one",
	// These are in Settings.
	"Startup": "", "Call": "", "Roots": "", "Undo": "", "Leaks": "", "LeakPatterns": "", "Limits": "", "Packages": "",
}

// comparedFields has the fields of a policy with a comparison of their own. Any other field that is
// not ignored is shown as Go writes it.
var comparedFields = map[string]func(a, b *policy.Policy) []Change{
	"Fs": compareRules, "Net": compareNone, "Inbound": compareNone, "Env": compareNone, "Sensitive": compareNone, // compareRules has them all
	"Commands": compareCommands, "Settings": compareSettings, "Waive": compareWaived, "HomeReal": compareHome,
}

// ComparePolicies returns what differs between two policies.
func ComparePolicies(before, after *policy.Policy) (all []Change) {
	a, b := reflect.ValueOf(*before), reflect.ValueOf(*after)
	for i := range a.NumField() {
		name := a.Type().Field(i).Name
		if compare := comparedFields[name]; compare != nil {
			all = append(all, compare(before, after)...)
			continue
		}
		// A field without a comparison of its own is shown with its values.
		if _, ignored := ignoredFields[name]; ignored || reflect.DeepEqual(a.Field(i).Interface(), b.Field(i).Interface()) {
			continue
		}
		text := strings.ToLower(name) + " " + valueText(b.Field(i))
		if !a.Field(i).IsZero() {
			text += " (was " + valueText(a.Field(i)) + ")"
		}
		all = append(all, Change{text, name != "Warm"})
	}
	return all
}

func valueText(v reflect.Value) string {
	if list, ok := v.Interface().([]string); ok {
		return show.Spelled(list)
	}
	return fmt.Sprint(v.Interface())
}

func compareNone(_, _ *policy.Policy) []Change { return nil }

func compareRules(before, after *policy.Policy) (all []Change) {
	had, has := grantTexts(before), grantTexts(after)
	all = append(all, listChanges(had, has, true, "", "no longer: ")...)
	return append(all, listChanges(refusalTexts(before), refusalTexts(after), false, "refuses ", "no longer refuses ")...)
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

const byDefault = "the default policy: the workspace (read write)"

func grantTexts(p *policy.Policy) (out []string) {
	a := &Access{Net: p.Net, Inbound: p.Inbound, Env: p.Env}
	for _, r := range p.Fs {
		if r.Where == policy.DefaultSource {
			out = append(out, byDefault)
			continue
		}
		r.Path = placeText(r.Path)
		a.Fs = append(a.Fs, r)
	}
	return append(append(out, a.describeGrants("")...), a.outsideGrants()...)
}

// placeText returns a path as it is written, but for that of the workspace.
func placeText(path string) string {
	if path == "." {
		return "the workspace"
	}
	return path
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

func compareCommands(before, after *policy.Policy) (all []Change) {
	texts := func(rules []policy.CommandRule) (out []string) {
		for _, text := range commandTexts(rules) {
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
		all = []Change{{"may start no program but its own and those listed", false}}
		for _, text := range texts(after.Commands) {
			all = append(all, Change{text, false})
		}
		return all
	}
	return listChanges(texts(before.Commands), texts(after.Commands), true, "", "no longer: ")
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

func compareWaived(before, after *policy.Policy) []Change {
	texts := func(axes []policy.Axis) (out []string) {
		for _, axis := range axes {
			out = append(out, "waived "+string(axis))
		}
		return out
	}
	return listChanges(texts(before.Waive), texts(after.Waive), true, "", "no longer: ")
}

func compareHome(before, after *policy.Policy) []Change {
	switch {
	case before.HomeReal == after.HomeReal:
		return nil
	case after.HomeReal:
		return []Change{{`home = "real"`, true}}
	}
	return []Change{{`home = "private"`, false}}
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
		all = append(all, Change{text, loosens(key, had[key], has[key])})
	}
	return all
}

// settingOrders are settings whose values have an order, the strictest first. The second of each is
// the default.
var settingOrders = map[string][]string{
	"leaks": {`"block"`, `"warn"`, `"off"`}, "pin_tools": {`"enforce"`, `"warn"`, `"off"`}, "undo": {`"call"`, `"session"`, `"off"`},
	"leak_patterns": {"true", "false"},
}

var settingDefaults = map[string]string{"leaks": `"warn"`, "pin_tools": `"warn"`, "undo": `"off"`, "leak_patterns": "false"}

// neutralSettings neither grant nor refuse.
var neutralSettings = []string{"startup_timeout_secs", "call_timeout_secs", "warm"}

// loosens reports whether a setting is weaker than before, or may be. "" is a setting that is not
// written.
func loosens(key, before, after string) bool {
	if slices.Contains(neutralSettings, key) {
		return false
	}
	if order := settingOrders[key]; order != nil {
		return slices.Index(order, cmp.Or(after, settingDefaults[key])) > slices.Index(order, cmp.Or(before, settingDefaults[key]))
	}
	number := func(text string) (int, bool) {
		for _, l := range (&LimitsTable{}).settings() {
			if text == "" && key == "limits."+l.key {
				return l.preset, true
			}
		}
		n, err := strconv.Atoi(text)
		return n, err == nil
	}
	was, known := number(before)
	is, ok := number(after)
	switch {
	case strings.HasPrefix(key, "limits.") && known && ok:
		return is > was
	case strings.HasPrefix(key, "undo_") && known && ok:
		return is < was
	}
	return true
}
