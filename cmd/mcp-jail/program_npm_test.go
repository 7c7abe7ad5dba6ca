//go:build linux

package main

import (
	"os"
	"strings"
	"testing"

	fixture "github.com/mcp-jail/mcp-jail/internal/testkit/registry"
)

// npmPackages has two packages. One needs the other, has an install script, and has directories with
// protected names.
func npmPackages() fixture.Stock {
	return fixture.Stock{Packages: []fixture.Package{
		{
			Name: "jail-fixture", Version: "1.0.0", Bin: map[string]string{"jail-fixture": "main.cjs"},
			Dependencies: map[string]string{"jail-fixture-dep": "^1.0.0"},
			Scripts:      map[string]string{"postinstall": `node -e "require('fs').writeFileSync('installed','by a script')"`},
			Files: map[string]string{
				"main.cjs":                 "#!/usr/bin/env node\nconsole.log('dependency', require('jail-fixture-dep'));\n",
				".vscode/settings.json":    "{}",
				".github/workflows/ci.yml": "on: push",
				".husky/pre-commit":        "true",
				".envrc":                   "true",
			},
		},
		{Name: "jail-fixture-dep", Version: "1.0.0", Files: map[string]string{"index.js": "module.exports = 'loaded';\n"}},
	}}
}

// TestNpmInstall tests that npm installs packages with scripts into the workspace, also where they
// are already, and that their programs run. Names that are protected elsewhere are not protected
// below node_modules. npx fetches a package into the private HOME and starts it.
func TestNpmInstall(t *testing.T) {
	need(t, "npm")
	t.Parallel()
	site := fixture.Start(t, npmPackages())
	_, port, _ := strings.Cut(strings.TrimPrefix(site.URL, "http://"), ":")
	packages := func(t *testing.T, w *world) recipe {
		r := nodeServer(t, w, "packages")
		r.access = append([]string{"[[servers.packages.access.net]]\nhost = \"localhost\"\nport = " + port + "\nallow = true\n"}, r.access...)
		w.plant(t, w.work, map[string]string{"package.json": `{"name":"project","version":"1.0.0","scripts":{"use":"jail-fixture"}}`})
		return r
	}
	checkRecipe(t, packages, useRun("sh", "-ec", `
		export npm_config_registry=`+site.URL+` npm_config_offline=false npm_config_update_notifier=false npm_config_audit=false npm_config_fund=false
		for again in 1 2; do
			npm install jail-fixture 2>&1
			test "$(cat node_modules/jail-fixture/installed)" = "by a script"
			cat node_modules/jail-fixture/.vscode/settings.json node_modules/jail-fixture/.github/workflows/ci.yml >/dev/null
			npm ci 2>&1
		done
		(cd ~ && npx -y jail-fixture 2>&1) | grep "dependency loaded"
		test -e ~/.npm/_cacache
		npm run use 2>&1
	`))
}

// TestNpxInstalled starts a package that is installed in the workspace. The workspace
// needs a rule with execute, since its programs are not in the baseline.
func TestNpxInstalled(t *testing.T) {
	need(t, "npm")
	t.Parallel()
	w := newWorld(t)
	s := open(t, w.jail("--workspace", os.Getenv("MCPJAIL_SERVERS"), "--read", ".", "--execute", ".", "--", "npx", "mcp-server-sequential-thinking"), nil)
	if tools := s.tools(); len(tools) != 1 {
		t.Errorf("tools: %q", tools)
	}
	if r := s.tool("sequentialthinking", map[string]any{"thought": "x", "nextThoughtNeeded": false, "thoughtNumber": 1, "totalThoughts": 1}); r.IsError {
		t.Error(r.texts())
	}
	if status := s.close(); status != 0 {
		t.Errorf("exit status %d\nstderr: %s", status, &s.stderr)
	}
}
