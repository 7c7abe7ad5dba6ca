package resolve

import (
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/resolve/internal/command"
)

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
func (b *resolver) keepCompiled(env environment, out *policy.Profile, c *command.Resolver) {
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
