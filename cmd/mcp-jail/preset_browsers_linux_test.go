package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// browserServer is a server that starts a browser, with its tools.
type browserServer struct {
	preset, npm    string
	args           []string // of the whole line
	open, opened   string   // the tool that opens a page, and what it says then; "" for the title
	shoot, picture string   // the tool that takes a picture, and its argument
}

var browserServers = map[string]browserServer{
	"playwright":      {preset: "playwright", npm: playwright, args: []string{"--ignore-https-errors"}, open: "browser_navigate", shoot: "browser_take_screenshot"},
	"chrome-devtools": {preset: "chrome-devtools", npm: "chrome-devtools-mcp", args: []string{"--acceptInsecureCerts"}, open: "new_page", shoot: "take_screenshot", picture: "pageId"},
	"puppeteer":       {preset: "puppeteer", npm: "@modelcontextprotocol/server-puppeteer", open: "puppeteer_navigate", opened: "Navigated to", shoot: "puppeteer_screenshot", picture: "name"},
}

// browserLayouts are the places in which people have the browser, below HOME or absolute. The last one
// is Debian's own.
var browserLayouts = map[string]string{
	"Chrome":       "/opt/google/chrome",
	"Playwright's": ".cache/ms-playwright/chromium-1247/chrome-linux64",
	"Puppeteer's":  ".cache/puppeteer/chrome/linux-131.0.6778.204/chrome-linux64",
	"Debian's":     "",
}

// TestPresetBrowsers starts servers with the flags that wrap writes and no others, and the browser is
// where people have it. The first call opens a page of the user's own server, and a picture can be
// taken. A port and a site that are not granted are refused, and what is proposed for them works.
func TestPresetBrowsers(t *testing.T) {
	need(t, "npm", "chromium")
	t.Parallel()
	for _, c := range []struct {
		server, layout string
		all            bool // not in the short form
	}{
		{"playwright", "Chrome", false}, {"playwright", "Playwright's", true}, {"chrome-devtools", "Debian's", true}, {"puppeteer", "Puppeteer's", true},
	} {
		t.Run(c.server+" "+c.layout, func(t *testing.T) {
			if c.all {
				testkit.NeedsLong(t)
				need(t, "presets")
			}
			testPresetBrowser(t, browserServers[c.server], browserLayouts[c.layout])
		})
	}
}

func testPresetBrowser(t *testing.T, c browserServer, layout string) {
	w := newWorld(t)
	n := newHosts(t, w, "none", []string{"shop.example.com", "other.example.com"})
	script := `rm -f "$0.said" && mkfifo "$0.said" && { node "$0" >"$0.said" & } && read -r said <"$0.said" && exec "$@"`
	switch {
	case filepath.IsAbs(layout):
		layBrowser(t, filepath.Join(w.base, "opt", layout))
		script = fmt.Sprintf("mount --bind %q /opt && ", filepath.Join(w.base, "opt", "opt")) + script
	case layout != "":
		layBrowser(t, filepath.Join(w.home, layout))
	}
	w.plant(t, w.base, map[string]string{"dev/server.mjs": source(t, "dev/server.mjs")})
	w.around = func(cmd *exec.Cmd) *exec.Cmd {
		cmd.Args = append([]string{"sh", "-c", script, filepath.Join(w.base, "dev", "server.mjs"), cmd.Path}, cmd.Args[1:]...)
		cmd.Path = "/bin/sh"
		return n.around(cmd)
	}
	s := c.start(t, w)
	c.opens(t, s, "http://localhost:3000/", "Page of 3000")
	c.shoots(t, s)
	c.opens(t, s, "http://[::1]:5173/", "Page of 5173")
	c.refuses(t, s, "http://localhost:8123/", "localhost")
	c.refuses(t, s, "https://shop.example.com/", "shop.example.com")
	s.close()
	if said := s.stderr.String(); strings.Contains(said, "googleapis.com") || strings.Contains(said, "fontconfig") {
		t.Errorf("what browsers do beside their work is told: %s", said)
	}
	s = c.start(t, w, "--net", "localhost:8123", "--net", "shop.example.com")
	c.opens(t, s, "http://127.0.0.1:8123/", "Page of 8123")
	if c.args != nil {
		c.opens(t, s, "https://shop.example.com/", "")
	}
	c.refuses(t, s, "https://other.example.com/", "other.example.com")
	s.close()
}

func (c browserServer) start(t *testing.T, w *world, flags ...string) *clientSession {
	t.Helper()
	line := []string{"node", module(playwright, "cli.js")}
	if c.npm != playwright {
		line = presetServer{NPM: c.npm}.command(t)
	}
	words := slices.Concat([]string{"--name", "browser", "--preset", c.preset}, flags, []string{"--"}, line, c.args)
	return open(t, w.jail(w.declared(t, words...)...), nil)
}

func (c browserServer) opens(t *testing.T, s *clientSession, url, title string) {
	t.Helper()
	if c.opened != "" {
		title = c.opened
	}
	if r := s.tool(c.open, map[string]any{"url": url}); r.IsError || !strings.Contains(r.texts(), title) {
		t.Errorf("%s: %s", url, r.raw)
	}
}

// refuses tests that a page does not open, and that its host is named.
func (c browserServer) refuses(t *testing.T, s *clientSession, url, host string) {
	t.Helper()
	if r := s.tool(c.open, map[string]any{"url": url}); !strings.Contains(r.texts(), "net::ERR_") || !strings.Contains(r.texts(), "may not reach "+host) {
		t.Errorf("%s: %s", url, r.raw)
	}
}

func (c browserServer) shoots(t *testing.T, s *clientSession) {
	t.Helper()
	arguments := map[string]any{}
	switch c.picture {
	case "pageId":
		arguments["pageId"] = 2
	case "name":
		arguments["name"] = "x"
	}
	if r := s.tool(c.shoot, arguments); r.IsError || !strings.Contains(string(r.raw), `"type":"image"`) {
		t.Errorf("a picture: %s", r.raw)
	}
}

// layBrowser lays the browser of this machine out as Chrome.
func layBrowser(t *testing.T, dir string) {
	t.Helper()
	layBrowserFiles(t, "/usr/lib/chromium", dir)
	layBrowserFiles(t, "/usr/lib/chromium/locales", filepath.Join(dir, "locales"))
}

func layBrowserFiles(t *testing.T, from, dir string) {
	t.Helper()
	must(t, os.MkdirAll(dir, 0o755))
	files, err := os.ReadDir(from)
	must(t, err)
	program := filepath.Base(chromium())
	for _, f := range files {
		name := f.Name()
		switch {
		case !f.Type().IsRegular(), strings.HasPrefix(name, "libVkLayer"), strings.HasPrefix(name, "chromium") && name != program:
			continue
		case name == program:
			name = "chrome"
		}
		copyBrowserFile(t, filepath.Join(from, f.Name()), filepath.Join(dir, name))
	}
}

func copyBrowserFile(t *testing.T, from, to string) {
	t.Helper()
	if os.Link(from, to) == nil {
		return
	}
	in, err := os.Open(from)
	must(t, err)
	defer in.Close()
	info, err := in.Stat()
	must(t, err)
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, info.Mode().Perm())
	must(t, err)
	_, err = io.Copy(out, in)
	must(t, err)
	must(t, out.Close())
}

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
