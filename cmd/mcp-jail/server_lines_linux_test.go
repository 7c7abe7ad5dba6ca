package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	fixture "github.com/mcp-jail/mcp-jail/internal/testkit/registry"
)

// npxLines are lines of real servers, after "npx -y". In them WORK is the workspace.
var npxLines = []string{
	everything,
	filesystem + " WORK",
	github,
	"mcp-git",
	memory,
	thinking,
	"@h1deya/mcp-server-weather",
	"@itseasy21/mcp-knowledge-graph",
	"@kazuph/mcp-taskmanager@1.1.1",
	"wikipedia-mcp",
}

// TestNpxLines tests that the unmodified npx lines of ten real servers start pinned. The package is fetched once,
// and its versions are in the lock file. The starts ask the registry for nothing, and do without it. That a first
// start fetches by itself is tested by package_first.txtar, with a package that is there in time.
func TestNpxLines(t *testing.T) {
	testkit.NeedsLong(t)
	need(t, "npm")
	t.Parallel()
	w, site := newShop(t, fixture.Stock{Packages: realPackages(t)})
	line := func(words string) []string {
		return append([]string{"--", "npx", "-y"}, strings.Fields(strings.ReplaceAll(words, "WORK", w.work))...)
	}
	for _, words := range npxLines {
		w.output(t, append([]string{"install"}, line(words)...)...)
	}
	lock := testkit.ReadFile(t, filepath.Join(w.home, ".config/mcp-jail/mcp-jail.lock"))
	site.Forget()
	for n, words := range append(npxLines, npxLines...) {
		if n == len(npxLines) {
			if asked := site.Requests(); len(asked) > 0 {
				t.Errorf("the starts asked the registry: %+v", asked)
			}
			site.Close()
		}
		if name, _ := cutVersion(strings.Fields(words)[0]); !strings.Contains(lock, `"`+name+`"`) {
			t.Errorf("%s is not in the lock file", name)
		}
		s := open(t, w.jail(line(words)...), nil)
		if list := s.call("tools/list", nil); list.Error != nil || !strings.Contains(string(list.Result), `"name"`) {
			t.Errorf("%s: %s%s", words, list.Error, list.Result)
		}
		if status := s.close(); status != 0 {
			t.Errorf("%s: status %d, %s", words, status, s.stderr.String())
		}
	}
}

// cutVersion splits NAME@VERSION, whose name may begin with an @.
func cutVersion(spec string) (name, version string) {
	if at := strings.LastIndexByte(spec, '@'); at > 0 {
		return spec[:at], spec[at+1:]
	}
	return spec, ""
}
