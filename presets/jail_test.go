package presets

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// TestJail tests what the presets of servers with a browser add to an entry, by what the entry says and
// by where the host has a browser.
func TestJail(t *testing.T) {
	const chrome, debian = "/opt/google/chrome/chrome", "/usr/lib/chromium/chromium"
	const older, newer = "~/.cache/ms-playwright/chromium-999/chrome-linux/chrome", "~/.cache/ms-playwright/chromium-1247/chrome-linux64/chrome"
	const puppeteer = "~/.cache/puppeteer/chrome/linux-131.0.1/chrome-linux64/chrome"
	sandbox := "PLAYWRIGHT_MCP_HEADLESS=true PLAYWRIGHT_MCP_SANDBOX=false"
	devtools := "CHROME_DEVTOOLS_MCP_NO_UPDATE_CHECKS=true PUPPETEER_DANGEROUS_NO_SANDBOX=true"
	launch := ` PUPPETEER_LAUNCH_OPTIONS={"headless":true,"args":["--no-sandbox"]}`
	for _, c := range []struct{ preset, entry, has, env, args string }{
		{"playwright", "", "", sandbox, ""},
		{"playwright", "", chrome + " " + newer, sandbox, ""},
		{"playwright", "", older + " " + debian + " " + newer, "PLAYWRIGHT_MCP_EXECUTABLE_PATH=" + newer + " " + sandbox, ""},
		{"playwright", "", debian, "PLAYWRIGHT_MCP_EXECUTABLE_PATH=" + debian + " " + sandbox, ""},
		{"playwright", "--browser=firefox", debian, sandbox, ""},
		{"playwright", "--executable-path /x", debian, sandbox, ""},
		{"playwright", "PLAYWRIGHT_MCP_EXECUTABLE_PATH=/x", debian, sandbox, ""},
		{"playwright", "PLAYWRIGHT_MCP_HEADLESS=false", chrome, "PLAYWRIGHT_MCP_SANDBOX=false", ""},
		{"playwright", "--cdp-endpoint http://localhost:9222", debian, "", ""},
		{"playwright", "--extension", debian, "", ""},
		{"chrome-devtools", "", chrome, devtools, "--headless"},
		{"chrome-devtools", "", debian, devtools, "--headless --executablePath=" + debian},
		{"chrome-devtools", "--headless=true --isolated", chrome, devtools, ""},
		{"chrome-devtools", "--no-headless", chrome, devtools, ""},
		{"chrome-devtools", "-e /x", debian, devtools, "--headless"},
		{"chrome-devtools", "--channel=beta", debian, devtools, "--headless"},
		{"chrome-devtools", "--browserUrl http://127.0.0.1:9222", debian, "", ""},
		{"puppeteer", "", chrome + " " + puppeteer, "ALLOW_DANGEROUS=true PUPPETEER_EXECUTABLE_PATH=" + puppeteer + launch, ""},
		{"puppeteer", "", chrome, "ALLOW_DANGEROUS=true PUPPETEER_EXECUTABLE_PATH=" + chrome + launch, ""},
		{"puppeteer-mcp-server", "", debian, "DOCKER_CONTAINER=true PUPPETEER_EXECUTABLE_PATH=" + debian, ""},
		{"github", "", debian, "", ""},
	} {
		p := testkit.Get(Find(c.preset))(t)
		home := t.TempDir()
		disk := hostfs.Glob(home)
		e := Entry{Env: map[string]string{}, Home: home, Glob: func(pattern string) (found []string) {
			if strings.HasPrefix(pattern, "~/") {
				return disk(pattern)
			}
			return slices.DeleteFunc(strings.Fields(c.has), func(name string) bool { return name != pattern })
		}}
		for _, name := range strings.Fields(c.has) {
			if below, ok := strings.CutPrefix(name, "~/"); ok {
				plant(t, filepath.Join(home, below))
			}
		}
		for _, word := range strings.Fields(c.entry) {
			if name, value, ok := strings.Cut(word, "="); ok && !strings.HasPrefix(word, "-") {
				e.Env[name] = value
			} else {
				e.Args = append(e.Args, word)
			}
		}
		got := p.For(e)
		var env []string
		for _, name := range slices.Sorted(maps.Keys(got.Env)) {
			env = append(env, name+"="+strings.ReplaceAll(got.Env[name], home, "~"))
		}
		if strings.Join(env, " ") != c.env || strings.Join(got.Args, " ") != c.args {
			t.Errorf("%s %q with %q: %q and %q, want %q and %q", c.preset, c.entry, c.has, env, got.Args, c.env, c.args)
		}
		// The server may start what it is told.
		for _, given := range append(slices.Collect(maps.Values(got.Env)), got.Args...) {
			_, name, ok := strings.Cut("="+given, "=/")
			name = strings.Replace("/"+name, home, "~", 1)
			if ok && !slices.ContainsFunc(got.Server.Access.Fs, func(r policy.FsRule) bool { return policy.Within(name, r.Path) && r.Read && r.Execute }) {
				t.Errorf("%s may not execute %s", c.preset, given)
			}
		}
		if slices.ContainsFunc(got.Server.Variables, func(v policy.EnvRule) bool { return got.Env[v.Name] != "" }) {
			t.Errorf("%s: a variable that the host does not have is forwarded: %v", c.preset, got.Server.Variables)
		}
	}
}

// TestEach tests that the directories of browsers are granted, each by itself: no profile, no link, and
// not what is around them.
func TestEach(t *testing.T) {
	home := t.TempDir()
	for _, name := range []string{"chromium-1247/x", "chromium_headless_shell-1247/x", "mcp-chrome-1abc/Cookies", "mcp-chrome-profile/Cookies", "b/x", "firefox-99", "chromium-x/y"} {
		plant(t, filepath.Join(home, ".cache/ms-playwright", name))
	}
	testkit.Must(t, os.Symlink(home, filepath.Join(home, ".cache/ms-playwright/webkit-1")))
	p := testkit.Get(Find("playwright"))(t)
	var got []string
	for _, r := range p.For(Entry{Glob: hostfs.Glob(home)}).Server.Access.Fs {
		if below, ok := strings.CutPrefix(r.Path, "~/.cache/ms-playwright"); ok {
			got = append(got, below+" "+r.Rights().String())
		}
	}
	testkit.Equal(t, "", got, []string{"/chromium-1247 read execute", "/chromium_headless_shell-1247 read execute"})
}

func plant(t *testing.T, name string) {
	t.Helper()
	testkit.Must(t, os.MkdirAll(filepath.Dir(name), 0o755))
	testkit.Must(t, os.WriteFile(name, nil, 0o755))
}
