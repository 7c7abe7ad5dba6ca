package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// measureNpx times `npx -y PACKAGE` up to the answer to initialize: bare, as mcp-jail takes it apart, and by
// npx --offline. The first starts of each way, which fetch the package, are not counted.
func measureNpx(ctx context.Context, s *site) ([]row, error) {
	npx, err := exec.LookPath("npx")
	if s.noNode != "" || err != nil {
		return []row{{Measure: "`npx -y`", Note: "node or npx is not installed"}}, nil
	}
	if _, err := s.build(ctx, "cmd/mcp-jail-cli"); err != nil { // fetches, beside mcp-jail
		return nil, err
	}
	var rows []row
	for _, server := range [][]string{{"@modelcontextprotocol/server-memory"}, {"@modelcontextprotocol/server-filesystem", s.workspace}} {
		name := "`initialize`, " + filepath.Base(server[0]) + ", "
		starts := func(side string, words ...string) func(context.Context) (float64, error) {
			home := filepath.Join(s.dir, "npx-"+side+"-"+filepath.Base(server[0])) // mcp-jail would use npm's cache
			return func(ctx context.Context) (float64, error) {
				if err := os.MkdirAll(home, 0o755); err != nil {
					return 0, err
				}
				return s.initialize(ctx, start{append(words, server...), npmEnviron(home)})
			}
		}
		more, err := s.compare(ctx, starts("bare", npx, "-y"),
			&way{name: name + "`npx -y`, later starts", run: starts("jail", s.jail, "run", "--", "npx", "-y")},
			&way{name: name + "`npx -y --offline`, later starts", run: starts("bare", npx, "-y", "--offline")})
		if rows = append(rows, more...); err != nil {
			return rows, fmt.Errorf("%s: %w", server[0], err)
		}
	}
	return rows, nil
}

// npmEnviron returns the environment of a user with a home, and what npm needs to reach the user's registry.
func npmEnviron(home string) []string {
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "LANG=C.UTF-8", "npm_config_update_notifier=false"}
	for _, name := range []string{"npm_config_registry", "HTTPS_PROXY", "NO_PROXY", "NODE_EXTRA_CA_CERTS"} {
		if value := os.Getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	for variable, name := range map[string]string{"XDG_CONFIG_HOME": "config", "XDG_STATE_HOME": "state", "XDG_CACHE_HOME": "cache", "XDG_DATA_HOME": "data"} {
		env = append(env, variable+"="+filepath.Join(home, name))
	}
	return env
}
