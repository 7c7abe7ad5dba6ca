package resolve

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"sort"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// minimalEnvironment is the rule of the variables that every server gets.
const minimalEnvironment = policy.MinimalEnvironment

// environment is the environment of a server while it is built.
type environment map[string]policy.Variable

func (e environment) set(name, value, rule string, secret bool) {
	e[name] = policy.Variable{Name: name, Value: value, Secret: secret, Rule: rule}
}

func (b *resolver) buildEnvironment(out *policy.Profile, c *Resolver, authorities map[string]string) error {
	host := make(map[string]string, len(b.h.Environ))
	for _, e := range b.h.Environ {
		if name, value, ok := strings.Cut(e, "="); ok && name != "" {
			host[name] = value
		}
	}
	env := make(environment, 14)
	b.addMinimal(env, host)
	env.set("PATH", b.visiblePath(out, c), minimalEnvironment, false)
	for name, value := range authorities {
		env.set(name, value, policy.AuthorityRule, false)
	}
	names := slices.Sorted(maps.Keys(host))
	for _, name := range names {
		b.applyEnvRules(env, name, host[name])
	}
	if err := b.applyFileRules(env); err != nil {
		return err
	}
	b.warnEnvRules(host)
	for _, v := range b.p.Packages.Env {
		if name, value, ok := strings.Cut(v, "="); ok && name != "PATH" {
			env.set(name, value, policy.PackageEnvironment, false)
		}
	}
	if err := (&secrets{b.facts, b.writers}).resolveSecrets(out, host, env); err != nil {
		return err
	}
	env.set("HOME", out.Home, minimalEnvironment, false)
	env.set("TMPDIR", "/tmp", minimalEnvironment, false)
	env.quietNpm()
	env.goOffline(out.Net)
	b.keepCompiled(env, out, c)
	delete(env, policy.StatementVar)
	out.Env = slices.SortedFunc(maps.Values(env), func(a, b policy.Variable) int { return strings.Compare(a.Name, b.Name) })
	env[policy.StatementVar] = state(out)
	for _, name := range names {
		if _, passed := env[name]; !passed && name != "_" {
			out.Withheld = append(out.Withheld, name)
		}
	}
	sort.Strings(out.Withheld)
	return nil
}

// state puts the statement of a profile into its environment, in place of the one that is there.
func state(out *policy.Profile) policy.Variable {
	isStatement := func(v policy.Variable) bool { return v.Name == policy.StatementVar }
	out.Env = slices.DeleteFunc(out.Env, isStatement) // the statement names the others
	v := policy.Variable{Name: policy.StatementVar, Value: string(policy.NewStatement(out).Encode()), Rule: policy.OwnVariable + "what the server may use"}
	at := slices.IndexFunc(out.Env, func(o policy.Variable) bool { return o.Name > v.Name })
	if at < 0 {
		at = len(out.Env)
	}
	out.Env = slices.Insert(out.Env, at, v)
	return v
}

func (b *resolver) addMinimal(env environment, host map[string]string) {
	for name, value := range host {
		switch name {
		case "SHELL", "LANG", "LANGUAGE", "TERM", "TZ":
		case policy.TextEncoding:
			if b.h.OS != "darwin" {
				continue
			}
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

func (b *resolver) applyEnvRules(env environment, name, value string) {
	rule, ok := policy.MatchEnv(b.p.Env, name)
	exact := rule.Name == name
	switch {
	case rule.Name == "", rule.File != "" && ok:
		return
	case !ok:
		if exact && name != "PATH" {
			delete(env, name) // a rule without read takes away from the minimal set too
		}
		return
	}
	if other := siblingSecret(b.p, name); other != "" {
		if !exact {
			return
		}
		b.warnings.warn("secret-beside", rule.Where, "the variable %s is a secret of another process of this server (%s), and this rule forwards its value to the same program", name, other)
	}
	if _, minimal := env[name]; minimal && !exact {
		return
	}
	env.set(name, value, rule.Label(), exact && !policy.IsMinimalVariable(name) || policy.LooksLikeSecret(name))
	if exact && policy.IsDangerousVariable(name) {
		b.warnings.warn("dangerous-variable", rule.Where, "the variable %s changes which code the server's programs load; it is forwarded because a rule names it", name)
	}
}

// applyFileRules sets the variables whose rules name a file. That wins over mcp-jail's own environment, since the rule
// says where the value is.
func (b *resolver) applyFileRules(env environment) error {
	for _, r := range b.p.Env {
		if rule, ok := policy.MatchEnv(b.p.Env, r.Name); !ok || r.File == "" || rule != r {
			continue
		}
		value, missing, err := b.valueInFile(r)
		if err != nil {
			return err
		}
		if missing != "" {
			b.warnings.warn("unset-variable", r.Where, "the variable %s is granted from %s, which %s: the server runs without it", r.Name, r.File, missing)
			continue
		}
		env.set(r.Name, value, r.Label(), true)
	}
	return nil
}

const maxDotenv = 1 << 20

// valueInFile returns the value of a rule with a file, or what keeps it from being read. A server that may write the
// file chooses the value, of its own variables and of those of others. It chooses no other file.
func (b *resolver) valueInFile(r policy.EnvRule) (value, missing string, err error) {
	file, _ := b.places.Expand(r.File, "")
	at, err := b.paths.Resolve(file)
	if err != nil {
		return "", err.Error(), nil
	}
	if l, w, ok := b.writers.writableLink(at.Links); ok {
		return "", "", &RuleError{r.Label(), fmt.Sprintf("leads through the symbolic link %s (-> %s), which %s could replace (%s): write the path that is meant, %s", l.Path, l.Target, w.Name, w.Rule, at.Path)}
	}
	switch {
	case at.Reason != "":
		return "", "cannot be reached (" + at.Reason + ")", nil
	case !at.Exists():
		return "", "does not exist", nil
	case !at.Info.Mode.IsRegular():
		return "", "is no file", nil
	}
	text, err := b.h.ReadHead(at.Path, maxDotenv+1)
	switch {
	case err != nil:
		return "", "cannot be read (" + err.Error() + ")", nil
	case len(text) > maxDotenv:
		return "", "is larger than 1 MiB", nil
	}
	value, ok, err := policy.DotenvFile(text).Value(r.Name)
	switch {
	case err != nil:
		return "", "does not say it (" + err.Error() + ")", nil
	case !ok:
		return "", "does not set it", nil
	case strings.ContainsRune(value, 0):
		return "", "has a NUL in it", nil
	}
	return value, "", nil
}

func (b *resolver) warnEnvRules(host map[string]string) {
	for _, r := range b.p.Env {
		switch _, ok := host[r.Name]; {
		case !r.Read || r.File != "" || strings.HasSuffix(r.Name, "*"):
		case (r.Name == "HOME" || r.Name == "TMPDIR"):
			b.warnings.warn("no-effect", r.Where, "the variable %s is always mcp-jail's own; home = \"real\" passes the user's HOME", r.Name)
		case !ok:
			b.warnings.warn("unset-variable", r.Where, "the variable %s is granted and not set", r.Name)
		}
	}
}

// visiblePath returns the directories of PATH that exist in the jail, also those of which it has
// one program alone. A directory of shims is replaced by the directory of the real programs.
func (b *resolver) visiblePath(out *policy.Profile, c *Resolver) string {
	var dirs []string
	for _, d := range c.SearchPath {
		if real, ok := c.Shimmed[d]; ok {
			d = real
		}
		at, err := b.paths.Resolve(d)
		if err != nil || !at.Exists() || !at.Info.Mode.IsDir() {
			continue
		}
		e, ok := out.Find(at.Path)
		visible := ok && e.Rights&(policy.Execute|policy.Read) != 0 || b.hasProgramIn(out, at.Path)
		if !visible || slices.Contains(dirs, d) {
			continue
		}
		dirs = append(dirs, d)
		b.links = append(b.links, at.Links...)
	}
	return strings.Join(dirs, ":")
}

// hasProgramIn reports whether the server may execute a file of a directory, or one that a link in
// it leads to. Without namespaces, the other files there are seen too, and cannot be started.
func (b *resolver) hasProgramIn(out *policy.Profile, dir string) bool {
	in := func(name string) bool { return name != dir && path.Dir(name) == dir }
	return slices.ContainsFunc(out.Entries, func(e policy.Entry) bool {
		return in(e.Path) && e.Kind == policy.KindFile && e.Rights.Has(policy.Execute)
	}) || slices.ContainsFunc(b.links, func(l policy.Link) bool {
		if !in(l.Path) {
			return false
		}
		at, err := b.paths.Resolve(l.Path)
		return err == nil && at.Exists() && at.Info.Mode.IsRegular() && out.RightsAt(at.Path).Has(policy.Execute)
	})
}

// quietNpm keeps npm from looking for a newer npm. The server needs no answer, and a blocked lookup of
// npm's host would look like the cause of a failure. npm reads its variables in any case of letters.
func (env environment) quietNpm() {
	const name = "NPM_CONFIG_UPDATE_NOTIFIER"
	for chosen := range env {
		if strings.EqualFold(chosen, name) {
			return
		}
	}
	env.set(name, "false", policy.OwnVariable+"no look for a newer npm", false)
}

// goOffline tells package managers that they cannot reach their registries. Without these
// variables, npx for instance retries in silence, even if every package is present. Any server
// may start a package manager, so every server gets the variables that no rule sets.
//
// A server that can reach other hosts may get a package from a registry that one of npm's files
// names. So npm is not told to be offline then, only to prefer its cache.
func (env environment) goOffline(net []policy.NetRule) {
	set := func(rule string, variables ...[2]string) {
		for _, v := range variables {
			if _, chosen := env[v[0]]; !chosen {
				env.set(v[0], v[1], rule, false)
			}
		}
	}
	_, registry := policy.MatchNet(net, npmRegistry, "https", 443, "", "")
	switch {
	case !slices.ContainsFunc(net, func(r policy.NetRule) bool { return r.Allow }):
		set("mcp-jail: no network",
			[2]string{"npm_config_offline", "true"},
			[2]string{"pnpm_config_offline", "true"}, // pnpm 11 and newer; older ones read npm's
			[2]string{"YARN_ENABLE_NETWORK", "0"},
			[2]string{"UV_OFFLINE", "1"},
			[2]string{"PIP_RETRIES", "0"}, // PIP_NO_INDEX would forbid indexes in files, too
			[2]string{"PIP_DISABLE_PIP_VERSION_CHECK", "1"})
	case !registry && !policy.AnyNeedsInterception(net, npmRegistry, "https", 443):
		set("mcp-jail: no registry",
			[2]string{"npm_config_prefer_offline", "true"},
			[2]string{"npm_config_fetch_retries", "0"})
	}
}

const npmRegistry = "registry.npmjs.org"

const (
	pythonCache    = ".cache/python" // in the private HOME
	pythonVariable = "PYTHONPYCACHEPREFIX"
)

// maxPackages is how many packages of an environment are looked at.
const maxPackages = 16

// keepCompiled lets Python keep what it compiles in the private HOME, where it can keep it nowhere
// else: the packages of its environment are not compiled, as uv leaves them, and cannot be written.
// Elsewhere the variable would cost, since with it Python looks for compiled files at no other place,
// those of its own library included. In a HOME that is thrown away it would cost at every start.
func (b *resolver) keepCompiled(env environment, out *policy.Profile, c *Resolver) {
	_, chosen := env[pythonVariable]
	_, never := env["PYTHONDONTWRITEBYTECODE"]
	if chosen || never || !out.HomePrivate || !b.p.Stateful {
		return
	}
	if slices.ContainsFunc(out.HomeLinks, func(l policy.HomeLink) bool { return policy.Within("/"+pythonCache, "/"+l.Path) }) {
		return // a rule decides what can be written there
	}
	for _, dir := range c.Environments {
		if b.lacksCompiled(out, dir) {
			env.set(pythonVariable, path.Join(out.Home, pythonCache), policy.OwnVariable+"compiled files of Python", false)
			return
		}
	}
}

// lacksCompiled reports whether most packages of an environment are not compiled, and the server
// cannot write there.
func (b *facts) lacksCompiled(out *policy.Profile, env string) bool {
	without, seen := 0, 0
	lib := b.paths.Canonical(path.Join(env, "lib"))
	versions, _ := b.paths.Names(lib)
	for _, version := range versions {
		site := b.paths.Canonical(path.Join(lib, version, "site-packages"))
		if !strings.HasPrefix(version, "python") || out.RightsAt(site)&(policy.Read|policy.Create) != policy.Read {
			continue
		}
		names, _ := b.paths.Names(site)
		for _, name := range names {
			if seen == maxPackages || strings.ContainsAny(name, ".-") {
				continue
			}
			in, _ := b.paths.Names(path.Join(site, name))
			if !slices.Contains(in, "__init__.py") {
				continue
			}
			seen++
			if !slices.Contains(in, "__pycache__") {
				without++
			}
		}
	}
	return 2*without > seen
}
