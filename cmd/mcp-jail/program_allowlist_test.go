//go:build linux

package main

import (
	"os"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// With a list of commands each program that is started has to stand in it, those
// that others start too.
func TestCommands(t *testing.T) {
	need(t, "node", "git")
	t.Parallel()
	listed := func(t *testing.T, w *world) recipe { return nodeServer(t, w, "listed") }
	use := starting("sh", "-c", "git --version")
	if checkMinimal(t, listed, use); !testkit.All() {
		checkRemovals(t, listed, use) // one recipe in the short run, too
	}
}

// What is called a program is often a script that starts one somewhere else.
func TestCommandsWrapped(t *testing.T) {
	need(t, "npm", "chromium")
	t.Parallel()
	const wrapped = "/usr/lib/chromium/chromium-headless-shell"
	if _, err := os.Stat(wrapped); err != nil {
		t.Skip(err)
	}
	checkMinimal(t, func(t *testing.T, w *world) recipe {
		r := documented(t, "wrapped", `"npx"`, `"node"`, `"-y", "`+playwright+`"`, `"`+module(playwright, "cli.js")+`"`)
		return r
	}, func(t *testing.T, w *world, s *session) toolResult {
		return s.tool("browser_navigate", map[string]any{"url": "data:text/html,<title>Listed</title>"})
	})
}
