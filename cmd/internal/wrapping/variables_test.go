package wrapping

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// entryLines are command lines of entries, by what mcp-jail does outside of the jail to start them.
var entryLines = map[string]string{
	"a package of npm":         `"command": "npx", "args": ["-y", "some-mcp"]`,
	"one by another launcher":  `"command": "bunx", "args": ["some-mcp"]`,
	"one behind env":           `"command": "env", "args": ["A=b", "npx", "-y", "some-mcp"]`,
	"one behind a shell":       `"command": "bash", "args": ["-lc", "exec npx -y some-mcp"]`,
	"one behind cmd":           `"command": "cmd", "args": ["/c", "npx", "-y", "some-mcp"]`,
	"npx by its script":        `"command": "node", "args": ["/usr/lib/node_modules/npm/bin/npx-cli.js", "-y", "some-mcp"]`,
	"npx by a shown reference": `"command": "${workspaceFolder}/npx", "args": ["-y", "some-mcp"]`,
	"a launcher, perhaps":      `"command": "${env:A}", "args": ["-y", "some-mcp"]`,
	"a word of env, perhaps":   `"command": "env", "args": ["${env:A}", "some-mcp"]`,
	"a script of node, asked":  `"command": "node", "args": ["${input:a}", "-y", "some-mcp"]`,
	"a text for a shell":       `"command": "sh", "args": ["-c", "${env:A} -y some-mcp"]`,
	"not taken apart":          `"command": "npx", "args": ["--unknown", "some-mcp"]`,
	"a package of Python":      `"command": "uvx", "args": ["some-mcp"]`,
	"a preset's program":       `"command": "github-mcp-server", "args": ["stdio"]`,
	"node":                     `"command": "node", "args": ["dist/index.js"]`,
	"node, in the workspace":   `"command": "node", "args": ["${workspaceFolder}/dist/index.js"]`,
	"a venv":                   `"command": "REPO/.venv/bin/python", "args": ["-m", "server"]`,
	"a venv, relative":         `"command": ".venv/bin/python", "args": ["${input:a}"]`,
	"uv run":                   `"command": "uv", "args": ["run", "server.py"]`,
	"a program":                `"command": "/opt/server", "args": ["npx", "-y", "some-mcp"]`,
}

// fetched are the lines for which mcp-jail finds, fetches or pins a package outside of the jail, or
// could.
var fetched = []string{"a package of npm", "one by another launcher", "one behind env", "one behind a shell", "one behind cmd", "npx by a shown reference", "a launcher, perhaps", "a word of env, perhaps",
	"a text for a shell", "not taken apart", "a package of Python"}

// variables says for each assignment in which entries wrap accepts it. "never": in none. "project":
// not in one of a project. "free": in all. "launcher": in one of a project only if mcp-jail fetches
// no package for its line.
var variables = map[string]string{
	"LD_PRELOAD=/e.so": "never", "HOME=/e": "never", "XDG_STATE_HOME=/e": "never", "XDG_CONFIG_HOME=/e": "never", "MCP_JAIL_X=1": "never", "BASH_ENV=e": "never", "A=B=c": "never",
	"PATH=REPO/bin": "project", "HTTPS_PROXY=http://e": "project", "https_proxy=http://e": "project", "NVM_DIR=REPO/e": "project", "FNM_DIR=e": "project", "N_PREFIX=e": "project", "MISE_DATA_DIR=e": "project",
	"SSL_CERT_FILE=e": "project", "GODEBUG=e": "project", "TMPDIR=/e": "project", "npm_config_cache=e": "project", "GOPATH=/e": "project", "PYENV_ROOT=/e": "project", "PATH=${env:PATH}:e": "project", "UV_PYTHON_INSTALL_DIR=/e": "project",
	"npm_config_registry=http://e": "launcher", "NPM_CONFIG_USERCONFIG=e": "launcher", "PREFIX=e": "launcher", "DESTDIR=e": "launcher", "UV_INDEX_URL=http://e": "launcher", "PIP_INDEX_URL=http://e": "launcher",
	"NODE_EXTRA_CA_CERTS=e": "launcher", "VIRTUAL_ENV=.venv": "launcher", "GIT_SSH_COMMAND=e": "launcher", "PYENV_VERSION=3": "launcher", "YARN_E=e": "launcher", "PYTHON_E=e": "launcher",
	"NODE_ENV=production": "free", "PYTHONPATH=src": "free", "NODE_OPTIONS=--require ./e.js": "free", "NODE_OPTIONS=--max-old-space-size=4096": "free", "NODE_TLS_REJECT_UNAUTHORIZED=0": "free", "PYTHONUNBUFFERED=1": "free",
	"NPM_CONFIG_LOGLEVEL=error": "free", "API_KEY=k": "free", "DEBUG=1": "free", "PATH=${env:PATH}": "free", "HOME=${env:HOME}": "free", "LD_LIBRARY_PATH=${env:LD_LIBRARY_PATH}": "free", "HOME=HOME_DIR": "free",
}

func splitVariable(text string) (name, value string) {
	if value, odd := strings.CutPrefix(text, "A=B="); odd {
		return "A=B", value
	}
	name, value, _ = strings.Cut(text, "=")
	return name, value
}

// TestVariablesByLine tests each line with each variable in a project's file and in one of the user's:
// an entry is left only if the variable acts on what mcp-jail does outside of the jail for that line.
// What status says is the same, before and after wrap.
func TestVariablesByLine(t *testing.T) {
	h := newHost(t)
	ours := Program{Path: filepath.Join(h.Home, "bin", "mcp-jail")}
	write(t, ours.Path, "")
	must(t, os.Chmod(ours.Path, 0o755))
	t.Setenv("PATH", filepath.Dir(ours.Path)+":"+os.Getenv("PATH"))
	fill := strings.NewReplacer("REPO", h.Project, "HOME_DIR", h.Home)
	files := map[string]string{"project": filepath.Join(h.Project, ".vscode/mcp.json"), "user": filepath.Join(h.Home, ".config/Code/User/mcp.json")}
	kinds := map[string]string{}
	for variable, kind := range variables {
		kinds[fill.Replace(variable)] = kind
	}
	rows := 0
	for line, words := range entryLines {
		starts := slices.Contains(fetched, line)
		for scope, path := range files {
			if scope == "user" && line != "node" && line != "a package of npm" && line != "a preset's program" {
				continue // its line decides nothing
			}
			var entries []string
			for variable := range variables {
				name, value := splitVariable(variable)
				entries = append(entries, fmt.Sprintf(`%q: {%s, "env": {"%s": "%s"}}`, variable, words, name, value))
			}
			write(t, path, fill.Replace(`{"servers": {`+strings.Join(entries, ", ")+`}}`))
			sel := Selection{Files: []string{path}, Clients: []string{"vscode"}}
			f := only(t, h, sel)
			change := f.Wrap(ours, Selection{}, h, newIDs(h))
			left := map[string]string{}
			for i, e := range f.Entries {
				variable, kind := e.Server, kinds[e.Server]
				left[variable] = change.Servers[i].Left
				want := kind == "never" || scope == "project" && (kind == "project" || kind == "launcher" && starts)
				if (left[variable] != "") != want {
					t.Errorf("%s, %s, %s's file: left %q, want %v", line, variable, scope, left[variable], want)
				}
				if v := f.Judge(e, ours, h); string(v.Why) != left[variable] || v.Jailed || v.Open != (left[variable] != "") {
					t.Errorf("%s, %s, %s's file: left %q, and judged %q", line, variable, scope, left[variable], v.Why)
				}
				rows++
			}
			must(t, errors.Join(WriteFiles(configDir(h), []*Change{change}), os.WriteFile(path, change.After, 0o600)))
			after := only(t, h, sel)
			for _, e := range after.Entries {
				if v := after.Judge(e, ours, h); v.Jailed != (left[e.Server] == "") {
					t.Errorf("%s, %s, %s's file: left %q, and judged after wrap: %q", line, e.Server, scope, left[e.Server], v.Why)
				}
			}
			if again := after.Wrap(ours, Selection{}, h, newIDs(h)); len(again.Changed()) != 0 {
				t.Errorf("%s, %s's file: a second wrap changes it", line, scope)
			}
		}
	}
	if rows != (len(entryLines)+3)*len(variables) {
		t.Errorf("control: %d rows", rows)
	}
}
