package kernel

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestTyped tests how the command is typed that a remedy names, for each way of installing.
func TestTyped(t *testing.T) {
	base := testkit.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	for _, file := range []string{"bin/mcp-jail", "archive/mcp-jail", "my place/it's/mcp-jail", "Cellar/1.2/bin/mcp-jail", "lib/node_modules/mcp-jail/bin/mcp-jail.js",
		"lib/node_modules/mcp-jail/node_modules/@mcp-jail/linux-x64/bin/mcp-jail", "_npx/1/node_modules/mcp-jail/bin/mcp-jail.js", "_npx/1/node_modules/@mcp-jail/linux-x64/bin/mcp-jail", "other/tool"} {
		testkit.Must(t, os.MkdirAll(filepath.Dir(filepath.Join(base, file)), 0o755))
		testkit.Must(t, os.WriteFile(filepath.Join(base, file), []byte(file), 0o755))
	}
	for link, to := range map[string]string{"brew/mcp-jail": "Cellar/1.2/bin/mcp-jail", "npm/mcp-jail": "lib/node_modules/mcp-jail/bin/mcp-jail.js", "_npx/1/node_modules/.bin/mcp-jail": "_npx/1/node_modules/mcp-jail/bin/mcp-jail.js"} {
		testkit.Must(t, os.MkdirAll(filepath.Dir(filepath.Join(base, link)), 0o755))
		testkit.Must(t, os.Symlink(filepath.Join(base, to), filepath.Join(base, link)))
	}
	for _, c := range testkit.Table[struct{ self, path, want string }](t, "typed.txt") {
		var dirs []string
		for _, dir := range strings.Split(c.path, ":") {
			dirs = append(dirs, filepath.Join(base, dir))
		}
		self := c.self
		if self != "" {
			self = filepath.Join(base, self)
		}
		if got, want := typed(self, strings.Join(dirs, ":")), strings.ReplaceAll(c.want, "$", base); got != want {
			t.Errorf("%s with PATH %s: %s, want %s", c.self, c.path, got, want)
		}
	}
}
