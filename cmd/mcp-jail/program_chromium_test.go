//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

const playwright = "@playwright/mcp"

// chromium returns the path of the browser: Debian's headless one, or the full one.
func chromium() string {
	for _, name := range []string{"/usr/bin/chromium-headless-shell", "/usr/bin/chromium"} {
		if _, err := os.Stat(name); err == nil {
			return name
		}
	}
	return ""
}

// browserRecipe returns the recipe for the server of testdata/npm and the browser of this
// machine.
func browserRecipe(t *testing.T, w *world) recipe {
	t.Helper()
	w.plant(t, w.work, map[string]string{"page.html": "<title>Jailed</title><h1>hello</h1>"})
	return readRecipe(t, "browser",
		`"npx"`, `"node"`, `"-y", "`+playwright+`"`, `"`+module(playwright, "cli.js")+`"`, "/usr/bin/chromium", chromium(), "/home/me/project", w.work)
}

// TestChromium opens a page, reads its text, and saves a screenshot in the workspace.
func TestChromium(t *testing.T) {
	need(t, "npm", "chromium")
	t.Parallel()
	checkRecipe(t, browserRecipe, func(t *testing.T, w *world, s *clientSession) toolResult {
		r := s.tool("browser_navigate", map[string]any{"url": "file://" + w.work + "/page.html"})
		if !r.IsError && !strings.Contains(r.texts(), "Page Title: Jailed") {
			t.Errorf("the page: %s", r.texts())
		}
		if r.IsError {
			return r
		}
		if r := s.tool("browser_snapshot", nil); !strings.Contains(r.texts(), `heading "hello"`) {
			t.Errorf("the snapshot: %s", r.texts())
		}
		if r = s.tool("browser_take_screenshot", nil); r.IsError {
			return r
		}
		if shots, _ := filepath.Glob(filepath.Join(w.work, "shots", "*.png")); len(shots) == 0 || !strings.HasPrefix(testkit.ReadFile(t, shots[0]), "\x89PNG") {
			t.Errorf("no picture in %q", shots)
		}
		return r
	})
}
