package presets

import (
	"path"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestBrowserOfMac tests that the presets of browsers find what a Mac has, to read and to start.
func TestBrowserOfMac(t *testing.T) {
	const (
		chrome   = "/Applications/Google Chrome.app"
		chromium = "~/Library/Caches/ms-playwright/chromium-1200"
		inside   = chromium + "/chrome-mac-arm64/Chromium.app/Contents/MacOS/Chromium"
	)
	for name, findsChrome := range map[string]bool{"playwright": true, "chrome-devtools": true, "puppeteer": false, "puppeteer-mcp-server": false} {
		for _, c := range []struct{ has, program string }{{chrome, chrome + "/Contents/MacOS/Google Chrome"}, {chromium, inside}} {
			preset := testkit.Get(Find(name))(t)
			glob := func(pattern string) (found []string) {
				for _, file := range []string{c.has + "/", c.program} {
					if ok, _ := path.Match(pattern, file); ok {
						found = append(found, path.Clean(file))
					}
				}
				return found
			}
			got := preset.For(Entry{Glob: glob, Home: "/Users/u"})
			granted := false
			for _, r := range got.Server.Access.Fs {
				granted = granted || r.Path == c.has && r.Read && r.Execute && !r.Create && !r.Update && !r.Delete
				if policy.Within(r.Path, c.has) && r.Path != c.has {
					t.Errorf("%s: %s is granted besides %s", name, r.Path, c.has)
				}
			}
			told := len(got.Args) > 0 && path.Base(got.Args[len(got.Args)-1]) == path.Base(c.program)
			for _, value := range got.Env {
				told = told || path.Base(value) == path.Base(c.program)
			}
			if finds := findsChrome && c.has == chrome; !granted || told == finds {
				t.Errorf("%s with %s: granted %v, told %v (%q %q)", name, c.has, granted, told, got.Env, got.Args)
			}
		}
	}
}
