//go:build linux

package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
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

// TestChromiumNetwork tests that the browser reaches a server in its own jail by loopback
// and none outside, and that the browser's own sandbox cannot be used.
func TestChromiumNetwork(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	need(t, "npm", "chromium")
	w.plant(t, w.base, map[string]string{"server/page.mjs": `
import { createServer } from "node:http";
createServer((q, r) => r.writeHead(200, { "Content-Type": "text/html" }).end("<title>Inside</title>")).listen(8080, "127.0.0.1").unref();
`})
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<title>Host</title>") }))
	defer host.Close()
	visit := func(s *clientSession, url string) toolResult {
		return s.tool("browser_navigate", map[string]any{"url": url})
	}

	argv := []string{"node", "--import", filepath.Join(w.base, "server", "page.mjs"), module(playwright, "cli.js"), "--headless", "--isolated", "--executable-path", chromium()}
	bare := append(slices.Clip(argv), "--no-sandbox")
	control := w.plain(bare...)
	control.Env = append(slices.Clip(w.env), "TMPDIR="+w.home) // the browser leaves a directory in it
	plain := open(t, control, nil)
	if r := visit(plain, host.URL); r.IsError || !strings.Contains(r.texts(), "Title: Host") {
		t.Errorf("outside of a jail: %s", r.texts())
	}
	plain.close()

	jail := func(argv []string) *clientSession {
		return open(t, w.jail(append([]string{"--read", filepath.Join(w.base, "server"), "--"}, argv...)...), nil)
	}
	s := jail(bare)
	if r := visit(s, "http://127.0.0.1:8080/"); r.IsError || !strings.Contains(r.texts(), "Title: Inside") {
		t.Errorf("the jail's own server: %s", r.texts())
	}
	if r := visit(s, host.URL); !r.IsError || !strings.Contains(r.texts(), "ERR_CONNECTION_REFUSED") {
		t.Errorf("the host's server: %s", r.raw)
	}
	if status := s.close(); status != 0 {
		t.Errorf("exit status %d", status)
	}

	s = jail(argv)
	if r := visit(s, "data:text/html,x"); !r.IsError || !strings.Contains(r.texts(), "start the browser with --no-sandbox") {
		t.Errorf("with a sandbox of its own: %s", r.raw)
	}
	s.close()
}
