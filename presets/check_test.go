package presets

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// TestFiles checks each built-in file.
func TestFiles(t *testing.T) {
	for _, name := range Names() {
		data, err := files.ReadFile("servers/" + name + ".toml")
		testkit.Must(t, err)
		testkit.Works(t, name, faults(name, data))
	}
}

// faults decodes a file of a preset. Its error has all that is wrong with it.
func faults(name string, data []byte) error {
	p, err := decode(name, data, name+".toml")
	if unknown := (*toml.StrictMissingError)(nil); errors.As(err, &unknown) {
		return errors.New(unknown.String()) // it shows the key
	}
	if err != nil {
		return err
	}
	var all []error
	add := func(key, format string, args ...any) {
		all = append(all, errors.New(key+" "+fmt.Sprintf(format, args...)))
	}
	if !bytes.Contains(data, []byte("\nstateful = ")) {
		add("preset.stateful", "is missing: say whether one call can depend on another")
	}
	if bytes.Count(data, []byte("[[preset.packages]]")) != len(p.Packages) {
		add("preset.packages", "must have one of npm, pypi, image and command in each table")
	}
	p.check(add)
	p.checkServer(add)
	return errors.Join(all...)
}

// checkServer reports what the second part has and a preset must not have.
func (p *Preset) checkServer(add func(key, format string, args ...any)) {
	header, rest, _ := bytes.Cut(p.Config, []byte("\n"))
	c, err := config.Decode(slices.Concat(header, []byte("\ncommand = \"server\"\n"), rest), p.Name)
	if err != nil || len(c.Servers) != 1 || c.Version != 0 {
		add("servers."+p.Name, "is to be the only table below that line: %v", err)
	}
	s := p.Server
	for key, set := range map[string]bool{
		"arguments": s.Arguments != nil, "workspace": s.Workspace != "", "waive": s.Waive != nil,
		"stateful": s.Stateful != nil, "tools": s.Tools != nil, "pin_tools": s.Settings["pin_tools"].Value != "",
		"leaks": s.Settings["leaks"].Value != "", "leak_patterns": s.Settings["leak_patterns"].Value != "",
	} {
		if set {
			add(key, "belongs to the user and not to a preset")
		}
	}
	for _, r := range p.rules() {
		for _, secret := range r.Secrets {
			if secret.File != "" || secret.Command != nil { // mcp-jail reads it outside of the jail
				add("secret", "has a file or a command, which belongs to the user and not to a preset")
			}
		}
	}
}

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
		if k := p.valueOf(label).Kind; k != url && k != host {
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

func (p *Preset) rules() []policy.NetRule {
	if p.Server.Access == nil {
		return nil
	}
	return p.Server.Access.Net
}

func (p *Preset) checkLogin(add func(key, format string, args ...any)) {
	const key = "preset.login"
	l := p.Login
	for _, label := range l.Of {
		if !slices.ContainsFunc(p.Arguments, func(a argument) bool { return a.label() == label }) {
			add(key, "names its logins by %s, which is no argument of the preset", label)
		}
	}
	if (l.PortRange != 0 || l.Unless != nil) && len(l.Of) == 0 {
		add(key, "must say of what the name of a login is made")
	}
	if l.PortFrom < 0 || l.PortRange < 0 || l.PortRange > 0 && (l.PortFrom < 1 || l.PortFrom+l.PortRange > 1<<16) {
		add(key, "has ports that are none")
	}
}

func (p *Preset) checkJail(add func(key, format string, args ...any)) {
	known := func(label string) bool {
		_, ok := p.Variable(label)
		return ok || strings.HasPrefix(label, "-")
	}
	for _, label := range slices.Sorted(maps.Keys(p.Jail.Variables)) {
		if !known(label) {
			add("preset.jail.variables", "sets %s, which the preset does not have", label)
		}
	}
	program := p.Jail.Program
	for _, label := range slices.Concat(p.Jail.Unless, program.Unless) {
		if !known(label) {
			add("preset.jail", "names the variable %s, which the preset does not have", label)
		}
	}
	if (program.Given == "") != (len(program.Also) == 0) {
		add("preset.jail.program", "must say in which other places it is, and how the server is told")
	} else if program.Given != "" && p.valueOf(program.Given).Kind != file {
		add("preset.jail.program", "names the program by %s, which is no variable or argument with a file", program.Given)
	}
	patterns := slices.Concat(program.Own, program.Also)
	for _, d := range p.Each {
		patterns = append(patterns, d.Paths...)
		if r := d.rule("x"); d.Kind != "" || r.Create || r.Update || r.Delete {
			add("preset.each", "may be read and executed, and nothing else")
		}
	}
	for _, pattern := range patterns {
		if _, err := path.Match(pattern, ""); err != nil || !strings.HasPrefix(pattern, "/") && !strings.HasPrefix(pattern, "~/") {
			add("preset.jail", "has the pattern %q, which is no absolute path or one below ~", pattern)
		}
	}
}
