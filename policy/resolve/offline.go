package resolve

import (
	"net/url"
	"slices"
	"strconv"

	"github.com/mcp-jail/mcp-jail/policy"
)

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
	switch {
	case !slices.ContainsFunc(net, func(r policy.NetRule) bool { return r.Allow }):
		set("mcp-jail: no network",
			[2]string{"npm_config_offline", "true"},
			[2]string{"pnpm_config_offline", "true"}, // pnpm 11 and newer; older ones read npm's
			[2]string{"YARN_ENABLE_NETWORK", "0"},
			[2]string{"UV_OFFLINE", "1"},
			[2]string{"PIP_RETRIES", "0"}, // PIP_NO_INDEX would forbid indexes in files, too
			[2]string{"PIP_DISABLE_PIP_VERSION_CHECK", "1"})
	case !env.mayReachRegistry(net):
		set("mcp-jail: no registry",
			[2]string{"npm_config_prefer_offline", "true"},
			[2]string{"npm_config_fetch_retries", "0"})
	}
}

func (env environment) mayReachRegistry(net []policy.NetRule) bool {
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
	_, any := policy.MatchNet(net, registry.Hostname(), registry.Scheme, port, "", "")
	return any || policy.AnyNeedsInterception(net, registry.Hostname(), registry.Scheme, port)
}
