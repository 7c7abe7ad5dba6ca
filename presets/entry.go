package presets

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// An Entry is what a client's file says about a server: its variables, and the words that
// come after the package or program.
type Entry struct {
	Env  map[string]string
	Args []string
	// Glob finds what the host has for a pattern, as hostfs.Glob does; nil finds nothing.
	Glob func(pattern string) []string
	Home string // what "~" is in what Glob found
}

// An Applied preset is the server of a preset, made to fit an entry.
type applied struct {
	Server *config.Server
	// Unknown are the variables of the entry that the preset does not know, sorted. Server
	// does not forward them.
	Unknown []string
	// Open is what the user must decide, as it could not be read from the entry.
	Open []open
	// Env and Args are what the server gets besides the entry's own, since it runs in a jail.
	Env  map[string]string
	Args []string
}

// An Open is a variable, flag or position of an entry whose value names something that no
// rule could be made for.
type open struct{ Name, Why string }

// For returns the preset's server for an entry. A variable that the entry sets becomes a
// secret of the net rules for the hosts that it is sent to, or is forwarded. A host, file or
// directory that the entry names becomes a rule. The entry's own hosts take the place of the
// preset's, where a variable says so. Values are read here, and no secret gets into the
// server.
func (p *Preset) For(e Entry) applied {
	m := &maker{preset: p, entry: e, server: clone(p.Server), named: map[string][]int{}}
	m.env, m.args = p.inJail(e)
	given := p.arguments(e.Args)
	for _, name := range slices.Sorted(maps.Keys(e.Env)) {
		if v, ok := p.Variable(name); ok {
			m.value(name, v.Value, e.Env[name])
			continue
		}
		m.unknown = append(m.unknown, name)
	}
	for _, g := range given {
		m.value(g.argument.label(), g.argument.Value, g.word)
	}
	m.ports()
	for _, v := range p.Variables {
		_, set := e.Env[v.Name]
		m.variable(v, set, given)
	}
	m.dropReplacedHosts()
	m.inbound(given)
	m.each()
	m.program()
	return applied{m.server, m.unknown, m.open, m.env, m.args}
}

// A maker collects the rules of one entry.
type maker struct {
	preset   *Preset
	entry    Entry
	server   *config.Server
	named    map[string][]int // the net rules for the hosts that a label names
	replaced []string         // hosts of the preset that hosts of the entry replace
	unknown  []string
	open     []open
	env      map[string]string
	args     []string
}

// variable forwards a variable, or makes it a secret of net rules. It removes a required variable
// that is not set from the server if the entry gives one of its Unless instead.
func (m *maker) variable(v variable, set bool, given []givenArgument) {
	instead := slices.ContainsFunc(v.Unless, func(name string) bool {
		_, ok := m.entry.Env[name]
		return ok || slices.ContainsFunc(given, func(g givenArgument) bool { return g.argument.label() == name })
	})
	own := m.ownHosts(v)
	switch {
	case !set && v.Required && instead:
		m.remove(v.Name)
	case !set && !v.Required:
	case v.canBeSecret() && len(own) > 0:
		// The entry's own hosts take the place of the preset's, also for the secret.
		m.replaced = append(m.replaced, v.Hosts...)
		if !m.addSecrets(v, own) {
			m.remove(v.Name)
			m.forward(v.Name)
		}
	case v.canBeSecret() && len(v.Hosts) > 0:
		m.addSecrets(v, m.rulesFor(v.Hosts))
	default:
		m.forward(v.Name)
	}
}

func (m *maker) ownHosts(v variable) (rules []int) {
	for _, label := range v.HostsFrom {
		rules = append(rules, m.named[label]...)
	}
	return rules
}

func (m *maker) rulesFor(hosts []string) (rules []int) {
	for i, r := range m.net() {
		if r.Allow && slices.Contains(hosts, r.Host) {
			rules = append(rules, i)
		}
	}
	return rules
}

// addSecrets makes a variable a secret of the rules. It reports false and changes nothing if one
// of the rules is not for https: a value can be put in only over TLS.
func (m *maker) addSecrets(v variable, rules []int) bool {
	net := m.net()
	if slices.ContainsFunc(rules, func(i int) bool { return net[i].Scheme != "https" }) {
		return false
	}
	for _, i := range rules {
		if !slices.ContainsFunc(net[i].Secrets, func(s policy.Secret) bool { return s.Env == v.Name }) {
			net[i].Secrets = append(net[i].Secrets, policy.Secret{Env: v.Name, Header: v.Header, Where: net[i].Where})
		}
	}
	return true
}

func (m *maker) forward(name string) {
	if !slices.ContainsFunc(m.server.Variables, func(r policy.EnvRule) bool { return r.Name == name }) {
		m.server.Variables = append(m.server.Variables, policy.EnvRule{Name: name, Read: true, Where: m.place(name)})
	}
}

func (m *maker) remove(name string) {
	m.server.Variables = slices.DeleteFunc(m.server.Variables, func(r policy.EnvRule) bool { return r.Name == name })
	for i, r := range m.net() {
		m.net()[i].Secrets = slices.DeleteFunc(r.Secrets, func(s policy.Secret) bool { return s.Env == name })
	}
}

func (m *maker) dropReplacedHosts() {
	if len(m.replaced) == 0 {
		return
	}
	// A host that the entry itself names stays, even if the preset has it too.
	kept := map[string]bool{}
	for _, rules := range m.named {
		for _, i := range rules {
			kept[m.net()[i].Host] = true
		}
	}
	m.server.Access.Net = slices.DeleteFunc(m.server.Access.Net, func(r policy.NetRule) bool {
		return slices.Contains(m.replaced, r.Host) && !kept[r.Host]
	})
}

func (m *maker) value(label string, v Value, value string) {
	var err error
	whole := value
	switch v.Kind {
	case url, database, host:
		var rules []policy.NetRule
		if rules, err = hostsOf(v, value); err == nil {
			for _, r := range rules {
				r.Where = m.place(label)
				m.grantHost(label, r)
			}
		}
	case file, directory:
		beside := ""
		if v.Beside && !strings.HasPrefix(value, "$") {
			beside, value = value, path.Dir(value)
		}
		switch {
		case strings.HasPrefix(value, "$"):
			err = fmt.Errorf("%q: variables are not replaced; write the whole path", policy.Abbreviate(whole))
		case (whole == "~" || strings.HasPrefix(whole, "~/")) && m.isVariable(label): // an argument has a warning of its own
			err = fmt.Errorf("%q: ~ is not replaced in a variable, and the server gets it as it is written: nothing is granted for it; write the whole path", policy.Abbreviate(whole))
		default:
			err = policy.CheckPath(value)
		}
		if err == nil {
			r := v.rule(value)
			r.Where, r.Beside, r.Made = m.place(label), beside, true
			m.access().Fs = append(m.access().Fs, r)
		}
	}
	if err != nil {
		m.open = append(m.open, open{label, err.Error()})
	}
}

func (m *maker) isVariable(label string) bool {
	return slices.ContainsFunc(m.preset.Variables, func(v variable) bool { return v.Name == label })
}

func (m *maker) place(label string) string {
	if label == "rest" {
		label = "an argument"
	} else if strings.Trim(label, "0123456789") == "" {
		label = "argument " + label
	}
	return "preset " + m.preset.Name + ": " + label
}

func (v Value) rule(path string) policy.FsRule {
	return policy.FsRule{Path: path, Preset: true, Read: v.Read, Create: v.Create, Update: v.Update, Delete: v.Delete, Execute: v.Execute}
}

// grantHost adds a rule, or takes one that is there for the same host. A scheme or port that one of
// the two rules does not name counts as the same.
func (m *maker) grantHost(label string, r policy.NetRule) {
	i := slices.IndexFunc(m.net(), func(p policy.NetRule) bool {
		return p.Allow && p.Host == r.Host && cmp.Or(p.Scheme, r.Scheme) == r.Scheme && cmp.Or(p.Port, r.Port) == cmp.Or(r.Port, p.Port)
	})
	if i < 0 {
		m.access().Net = append(m.access().Net, r)
		i = len(m.net()) - 1
	}
	m.named[label] = append(m.named[label], i)
}

func (m *maker) ports() {
	for _, v := range m.preset.Variables {
		if value, ok := m.entry.Env[v.Name]; ok && v.Kind == port {
			port, err := portOf(value)
			if err != nil {
				m.open = append(m.open, open{v.Name, err.Error()})
				continue
			}
			for label, rules := range m.named {
				for _, i := range rules {
					if m.preset.valueOf(label).Kind == host {
						m.net()[i].Port = port
					}
				}
			}
		}
	}
}

// access returns the table, to which a rule is about to be added. With a rule, the workspace is granted
// no more unless the preset has others beside it.
func (m *maker) access() *config.Access {
	a := m.server.Access
	if a == nil {
		a = &config.Access{}
		m.server.Access = a
	}
	if a.Workspace == "write" && len(a.Fs)+len(a.Net)+len(a.Inbound)+len(a.Env) == 0 {
		a.Workspace = "none"
	}
	return a
}

func (m *maker) net() []policy.NetRule {
	if m.server.Access == nil {
		return nil
	}
	return m.server.Access.Net
}

func clone(s *config.Server) *config.Server {
	out := *s
	out.Variables = slices.Clone(s.Variables)
	if s.Access != nil {
		access := *s.Access
		access.Fs, access.Net, access.Inbound = slices.Clone(access.Fs), slices.Clone(access.Net), slices.Clone(access.Inbound)
		for i := range access.Net {
			access.Net[i].Secrets = slices.Clone(access.Net[i].Secrets)
		}
		out.Access = &access
	}
	return &out
}

func (o open) String() string { return fmt.Sprintf("%s: %s", o.Name, o.Why) }

// A givenArgument is a word of an entry that the preset knows.
type givenArgument struct {
	argument argument
	word     string
}

// arguments returns the words of an entry that the preset knows. The value of a flag that the
// preset does not know counts as a position if it is a word by itself.
func (p *Preset) arguments(words []string) (out []givenArgument) {
	position := 0
	for i := 0; i < len(words); i++ {
		word := words[i]
		if strings.HasPrefix(word, "-") && word != "-" {
			flag, value, joined := strings.Cut(word, "=")
			j := slices.IndexFunc(p.Arguments, func(a argument) bool { return a.Flag == flag })
			if j < 0 {
				continue
			}
			if !joined && i+1 < len(words) {
				i++
				value, joined = words[i], true
			}
			if joined {
				out = append(out, givenArgument{p.Arguments[j], value})
			}
			continue
		}
		position++
		j := slices.IndexFunc(p.Arguments, func(a argument) bool { return a.Position == position })
		if j < 0 {
			j = slices.IndexFunc(p.Arguments, func(a argument) bool { return a.Rest })
		}
		if j >= 0 {
			out = append(out, givenArgument{p.Arguments[j], word})
		}
	}
	return out
}
