package resolve

import (
	"maps"
	"net/url"
	"path"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// minimalEnvironment is the rule of the variables that every server gets.
const minimalEnvironment = "the minimal environment"

// environment is the environment of a server while it is built.
type environment map[string]policy.Variable

func (e environment) set(name, value, rule string, secret bool) {
	e[name] = policy.Variable{Name: name, Value: value, Secret: secret, Rule: rule}
}

// buildEnvironment builds the environment in the three steps of docs/policy.md "Environment
// rules".
func (b *resolver) buildEnvironment(out *policy.Profile, c *commandResolver) error {
	host := make(map[string]string, len(b.h.Environ))
	for _, e := range b.h.Environ {
		if name, value, ok := strings.Cut(e, "="); ok && name != "" {
			host[name] = value
		}
	}
	env := make(environment, 14)
	b.addMinimal(env, host)
	env.set("PATH", b.visiblePath(out, c), minimalEnvironment, false)
	names := slices.Sorted(maps.Keys(host))
	for _, name := range names {
		b.applyEnvRules(env, name, host[name])
	}
	b.warnEnvRules(host)
	for _, v := range b.p.Packages.Env {
		if name, value, ok := strings.Cut(v, "="); ok && name != "PATH" {
			env.set(name, value, "the installed package", false)
		}
	}
	if err := b.resolveSecrets(out, host, env); err != nil {
		return err
	}
	env.set("HOME", out.Home, minimalEnvironment, false)
	env.set("TMPDIR", "/tmp", minimalEnvironment, false)
	if usesNpm(out) {
		disableRegistry(out.Net, env)
	}
	env.set(policy.StatementVar, string(out.Statement()), "mcp-jail: what the server may use", false)
	for _, name := range slices.Sorted(maps.Keys(env)) {
		out.Env = append(out.Env, env[name])
	}
	for _, name := range names {
		if _, passed := env[name]; !passed && name != "_" {
			out.Withheld = append(out.Withheld, name)
		}
	}
	sort.Strings(out.Withheld)
	return nil
}

// addMinimal adds the host's variables that every server gets.
func (b *resolver) addMinimal(env environment, host map[string]string) {
	for name, value := range host {
		switch name {
		case "SHELL", "LANG", "LANGUAGE", "TERM", "TZ":
		default:
			if !strings.HasPrefix(name, "LC_") {
				continue
			}
		}
		env.set(name, value, minimalEnvironment, false)
	}
	if b.h.User != "" {
		env.set("USER", b.h.User, minimalEnvironment, false)
		env.set("LOGNAME", b.h.User, minimalEnvironment, false)
	}
}

// applyEnvRules forwards or removes one variable of the host as the rules say.
func (b *resolver) applyEnvRules(env environment, name, value string) {
	rule, ok := policy.MatchEnv(b.p.Env, name)
	exact := rule.Name == name
	switch {
	case rule.Name == "":
		return
	case !ok:
		if exact && name != "PATH" {
			delete(env, name) // a rule without read takes away from the minimal set too
		}
		return
	}
	if other := b.siblingSecret(name); other != "" {
		if !exact {
			return
		}
		b.warn("secret-beside", rule.Where, "the variable %s is a secret of another process of this server (%s), and this rule forwards its value to the same program", name, other)
	}
	if _, minimal := env[name]; minimal && !exact {
		return
	}
	env.set(name, value, rule.Label(), exact && !policy.IsMinimalVariable(name) || policy.LooksLikeSecret(name))
	if exact && policy.IsDangerousVariable(name) {
		b.warn("dangerous-variable", rule.Where, "the variable %s changes which code the server's programs load; it is forwarded because a rule names it", name)
	}
}

// warnEnvRules warns of rules that have no effect on this host.
func (b *resolver) warnEnvRules(host map[string]string) {
	for _, r := range b.p.Env {
		switch _, ok := host[r.Name]; {
		case !r.Read || strings.HasSuffix(r.Name, "*"):
		case (r.Name == "HOME" || r.Name == "TMPDIR"):
			b.warn("no-effect", r.Where, "the variable %s is always mcp-jail's own; home = \"real\" passes the user's HOME", r.Name)
		case !ok:
			b.warn("unset-variable", r.Where, "the variable %s is granted and not set", r.Name)
		}
	}
}

// disableRegistry configures npm for a registry that the server cannot reach. npx asks its
// registry even if every package is present, and silently retries for more than a minute.
// With some network, a package may still come from a registry that one of npm's files
// names.
func disableRegistry(net []policy.NetRule, env map[string]policy.Variable) {
	set := func(name, value, rule string) {
		if _, chosen := env[name]; !chosen {
			env[name] = policy.Variable{Name: name, Value: value, Rule: rule}
		}
	}
	registry := &url.URL{Scheme: "https", Host: "registry.npmjs.org"}
	for _, name := range [...]string{"NPM_CONFIG_REGISTRY", "npm_config_registry"} {
		if u, err := url.Parse(env[name].Value); err == nil && u.Host != "" {
			registry = u
		}
	}
	port, err := strconv.Atoi(registry.Port())
	if err != nil {
		port = map[string]int{"http": 80, "https": 443}[registry.Scheme]
	}
	switch {
	case !slices.ContainsFunc(net, func(r policy.NetRule) bool { return r.Allow }):
		set("npm_config_offline", "true", "mcp-jail: no network")
	case !mayReach(net, registry.Hostname(), registry.Scheme, port):
		set("npm_config_prefer_offline", "true", "mcp-jail: no registry")
		set("npm_config_fetch_retries", "0", "mcp-jail: no registry")
	}
}

// mayReach reports whether any request may be sent to a host.
func mayReach(net []policy.NetRule, host, scheme string, port int) bool {
	_, any := policy.MatchNet(net, host, scheme, port, "", "")
	return any || policy.AnyNeedsInterception(net, host, scheme, port)
}

func usesNpm(out *policy.Profile) bool {
	if len(out.Argv) > 0 {
		switch path.Base(out.Argv[0]) {
		case "npx", "npm":
			return true
		}
	}
	return strings.HasSuffix(out.Program, "/npm/bin/npx-cli.js") || strings.HasSuffix(out.Program, "/npm/bin/npm-cli.js")
}

// visiblePath returns the directories of PATH that exist in the jail. A directory of shims
// is replaced by the directory of the real programs.
func (b *resolver) visiblePath(out *policy.Profile, c *commandResolver) string {
	var dirs []string
	for _, d := range c.searchPath {
		if real, ok := c.shimmed[d]; ok {
			d = real
		}
		at, err := b.paths.Resolve(d)
		if err != nil || !at.Exists() || !at.Info.Mode.IsDir() {
			continue
		}
		e, ok := out.Find(at.Path)
		if !ok || !e.Rights.Has(policy.Execute) && !e.Rights.Has(policy.Read) || slices.Contains(dirs, d) {
			continue
		}
		dirs = append(dirs, d)
		b.links = append(b.links, at.Links...)
	}
	return strings.Join(dirs, ":")
}
