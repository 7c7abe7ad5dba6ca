package presets

import (
	"fmt"
	"slices"

	"github.com/mcp-jail/mcp-jail/policy"
)

// check reports what the decoders cannot see: words that are none of a list, and facts that
// contradict each other or the second part.
func (p *Preset) check(add func(key, format string, args ...any)) {
	if p.Title == "" {
		add("preset.title", "is missing")
	}
	if len(p.Packages) == 0 {
		add("preset.packages", "is missing: say which packages, images or programs the preset is for")
	}
	if len(p.Sources) == 0 || slices.Contains(p.Sources, "") {
		add("preset.sources", "is missing or has an empty text: say where the facts come from")
	}
	if !slices.IsSorted(p.ReadOnly) || len(slices.Compact(slices.Clone(p.ReadOnly))) != len(p.ReadOnly) {
		add("preset.read_only", "must be sorted and name each tool once")
	}
	seen := map[string]bool{}
	for _, v := range p.Variables {
		key := "preset.variables." + v.Name
		if err := policy.CheckVariable(v.Name); err != nil {
			add(key, "is refused: %s", err)
		}
		if seen[v.Name] {
			add(key, "is there twice")
		}
		seen[v.Name] = true
		v.check(key, add)
		p.checkSecret(v, key, add)
	}
	for _, a := range p.Arguments {
		key := "preset.arguments." + a.label()
		if places := count(a.Flag != "", a.Position != 0, a.Rest); places != 1 || a.Position < 0 {
			add(key, "must have one of flag, position and rest")
		}
		if _, known := p.Variable(a.Variable); a.Variable != "" && !known {
			add(key, "names the variable %s, which the preset does not have", a.Variable)
		}
		if a.Kind == plainText && !a.Secret && a.Flag == "" {
			add(key, "names neither a path, nor a host, nor a secret")
		}
		a.check(key, add)
	}
	p.checkLogin(add)
	p.checkJail(add)
}

func count(all ...bool) (n int) {
	for _, b := range all {
		if b {
			n++
		}
	}
	return n
}

// label returns what the argument is called in messages.
func (a argument) label() string {
	switch {
	case a.Flag != "":
		return a.Flag
	case a.Rest:
		return "rest"
	}
	return fmt.Sprint(a.Position)
}

func (v Value) check(key string, add func(key, format string, args ...any)) {
	if !slices.Contains([]kind{plainText, url, database, host, port, inbound, file, directory}, v.Kind) {
		add(key, "has the unknown kind %q", v.Kind)
	}
	if !slices.Contains([]sent{"", inHeader, inQuery, inBody, inCookie, inProtocol, signs, stays}, v.Sent) {
		add(key, "has the unknown word %q for sent", v.Sent)
	}
	if v.Secret != (v.Sent != "") {
		add(key, "must say of a secret, and of no other, how it is sent")
	}
	if v.Checked && v.Sent != inHeader || v.Beside && v.Kind != file {
		add(key, "may have checked only if it is sent in a header, and beside only if it names a file")
	}
	if path, rights := v.Kind == file || v.Kind == directory, v.Read || v.Create || v.Update || v.Delete || v.Execute; path != rights {
		add(key, "must have rights if it names a file or directory, and none otherwise")
	}
	if v.Scheme != "" && !slices.Contains([]string{"http", "https", "tcp"}, v.Scheme) {
		add(key, "has the unknown scheme %q", v.Scheme)
	}
	for _, name := range v.Below {
		if h, err := policy.NormalizeHost(name + ".example.com"); err != nil || h != name+".example.com" || v.Kind != url && v.Kind != host {
			add(key, "has %q below its host, which is no name, or it names no host", name)
		}
	}
	if host := v.Kind == url || v.Kind == database || v.Kind == host; (v.Scheme != "" || v.Port != 0) && !host || v.Port < 0 || v.Port > 65535 {
		add(key, "may have a scheme and a port (1 to 65535) only if it names a host")
	}
}

func (p *Preset) checkSecret(v variable, key string, add func(key, format string, args ...any)) {
	if v.Sent != inHeader && (v.Header != nil || v.Hosts != nil || v.HostsFrom != nil) {
		add(key, "may have header, hosts and hosts_from only if it is sent in a header")
		return
	}
	for _, label := range v.HostsFrom {
		if k := p.kind(label); k != url && k != host {
			add(key, "takes its host from %s, which is no variable or argument with a host", label)
		}
	}
	if v.Sent == inHeader && len(v.Header) == 0 {
		add(key, "must name the header fields that it is sent in")
	}
	for _, host := range v.Hosts {
		if !slices.ContainsFunc(p.rules(), func(r policy.NetRule) bool { return r.Host == host && r.Allow }) {
			add(key, "is sent to %s, which no net rule grants", host)
		}
	}
	forwarded := slices.ContainsFunc(p.Server.Variables, func(r policy.EnvRule) bool { return r.Name == v.Name })
	if forwarded && v.canBeSecret() {
		add(key, "is forwarded, but can be a secret of a net rule")
	}
	if v.Required && !v.canBeSecret() && !forwarded {
		add(key, "is required, so [servers.%s] must list it in variables", p.Name)
	}
	for _, r := range p.rules() {
		i := slices.IndexFunc(r.Secrets, func(s policy.Secret) bool { return s.Env == v.Name })
		wanted := v.Required && v.canBeSecret() && slices.Contains(v.Hosts, r.Host)
		if wanted != (i >= 0) {
			add(key, "has to be a secret of the rules for its hosts, if it is required, and of no others; see %s", r.Host)
		}
		if i >= 0 && !slices.Equal(r.Secrets[i].Header, v.Header) {
			add(key, "has other header fields in the rule for %s", r.Host)
		}
	}
}

func (p *Preset) kind(label string) kind { return p.valueOf(label).Kind }

func (p *Preset) valueOf(label string) Value {
	if v, ok := p.Variable(label); ok {
		return v.Value
	}
	for _, a := range p.Arguments {
		if a.label() == label {
			return a.Value
		}
	}
	return Value{Kind: plainText}
}

func (p *Preset) rules() []policy.NetRule {
	if p.Server.Access == nil {
		return nil
	}
	return p.Server.Access.Net
}
