package doctorcmd

import (
	"os"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestTools tests which programs are looked for, where they are found, and what is said of them. No
// program runs: the versions are in paths and files.
func TestTools(t *testing.T) {
	const node = `"command": "npx", "args": ["-y", "p"]`
	const python = `"command": "uvx", "args": ["p"]`
	npm := map[string]string{"bin/npm": "->lib/node_modules/npm/bin/npm-cli.js", "lib/node_modules/npm/bin/npm-cli.js": "x", "lib/node_modules/npm/package.json": `{"name": "npm", "version": "VERSION"}`}
	for name, c := range map[string]struct {
		entry string
		files map[string]string // "->" begins a link, relative to the directory of the test
		npm   string            // its version
		tools string
		want  string
	}{
		"none is needed": {`"command": "server"`, nil, "", "", ""},
		"all is there":   {node, map[string]string{"home/.nvm/versions/node/v20.1.2/bin/node": "x"}, "10.2.3", "node 20.1.2 ~/.nvm/versions/node/v20.1.2/bin/node nvm; npm 10.2.3 DIR/bin/npm ", ""},
		"an old npm":     {node, map[string]string{"home/.nvm/versions/node/v20.1.2/bin/node": "x"}, "6.14.0", "node 20.1.2 ~/.nvm/versions/node/v20.1.2/bin/node nvm; npm 6.14.0 DIR/bin/npm ", "! DIR/bin/npm is npm 6.14.0 [it]"},
		"no npm":         {node, map[string]string{"home/.nvm/versions/node/v20.1.2/bin/node": "x"}, "", "node 20.1.2 ~/.nvm/versions/node/v20.1.2/bin/node nvm; npm   ", "! npm was not found in PATH [it]"},
		"no node":        {node, nil, "10.2.3", "node   ; npm 10.2.3 DIR/bin/npm ", "! the package needs Node.js, and there is none"},
		"pip":            {python, map[string]string{"home/.pyenv/versions/3.12.1/bin/python3": "x", "home/.pyenv/versions/3.12.1/lib/python3.12/site-packages/pip/__init__.py": "__version__ = \"24.0\"\n"}, "", "python 3.12.1 ~/.pyenv/versions/3.12.1/bin/python3 pyenv; pip 24.0 ~/.pyenv/versions/3.12.1/lib/python3.12/site-packages/pip ", ""},
		"no python":      {python, nil, "", "python   ; pip   ", "! the package needs Python, and there is none"},
	} {
		t.Run(name, func(t *testing.T) {
			i, dir := newInstallation(t)
			files := map[string]string{"home/.cursor/mcp.json": `{"mcpServers": {"it": {` + c.entry + `}}}`}
			for file, content := range c.files {
				files[file] = content
			}
			if c.npm != "" {
				for file, content := range npm {
					files[file] = strings.ReplaceAll(content, "VERSION", c.npm)
				}
			}
			for file, content := range files {
				testkit.Must(t, os.MkdirAll(dir+"/"+file[:strings.LastIndex(file, "/")], 0o755))
				if target, isLink := strings.CutPrefix(content, "->"); isLink {
					testkit.Must(t, os.Symlink(dir+"/"+target, dir+"/"+file))
				} else {
					testkit.Must(t, os.WriteFile(dir+"/"+file, []byte(content), 0o755))
				}
			}
			i.find(t)
			i.lookTools(t.Context())
			var tools []string
			for _, tool := range i.tools {
				tools = append(tools, strings.Join([]string{tool.Name, tool.Version, i.short(tool.Path), tool.Of}, " "))
			}
			if got := strings.ReplaceAll(strings.Join(tools, "; "), dir, "DIR"); got != c.tools {
				t.Errorf("finds %q, want %q", got, c.tools)
			}
			if got := strings.ReplaceAll(texts(i.checkTools()), dir, "DIR"); got != c.want && !(strings.HasSuffix(c.want, " none") && strings.HasPrefix(got, c.want)) {
				t.Errorf("says %q, want %q", got, c.want)
			}
		})
	}
}
