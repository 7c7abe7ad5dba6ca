//go:build linux

package main

import (
	"os"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestCommands tests that a list of commands must contain every program, also those
// that other programs start.
func TestCommands(t *testing.T) {
	need(t, "node", "git")
	t.Parallel()
	listed := func(t *testing.T, w *world) recipe { return nodeServer(t, w, "listed") }
	checkRecipe(t, listed, useRun("sh", "-c", "git --version"))
}

// TestCommandsWrapped tests a list of commands with a wrapper script that starts a
// program elsewhere.
func TestCommandsWrapped(t *testing.T) {
	need(t, "npm", "chromium")
	t.Parallel()
	const wrapped = "/usr/lib/chromium/chromium-headless-shell"
	if _, err := os.Stat(wrapped); err != nil {
		testkit.Skip(t, "chromium", "the recipe names Debian's: %v", err)
	}
	checkRecipe(t, func(t *testing.T, w *world) recipe {
		r := readRecipe(t, "wrapped", `"npx"`, `"node"`, `"-y", "`+playwright+`"`, `"`+module(playwright, "cli.js")+`"`)
		return r
	}, func(t *testing.T, w *world, s *clientSession) toolResult {
		return s.tool("browser_navigate", map[string]any{"url": "data:text/html,<title>Listed</title>"})
	})
}
