package main

import (
	"os"
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
	memory,
	thinking,
	playwright,
	databases + " postgresql://127.0.0.1:1/none",
	"@itseasy21/mcp-knowledge-graph",
	"@kazuph/mcp-taskmanager@1.1.1",
	"wikipedia-mcp",
}

// TestNpxLines tests that the unmodified npx lines of ten real servers start pinned: the first start fetches the
// package and writes its versions to the lock file, and a later one starts without the registry.
func TestNpxLines(t *testing.T) {
	testkit.NeedsLong(t)
	need(t, "npm")
	t.Parallel()
	stock := fixture.Stock{Packages: realPackages(t)}
	for _, line := range npxLines {
		words := strings.Fields(line)
		t.Run(words[0], func(t *testing.T) {
			t.Parallel()
			w, site := newShop(t, stock)
			argv := []string{"--", "npx", "-y"}
			for _, word := range words {
				argv = append(argv, strings.ReplaceAll(word, "WORK", w.work))
			}
			starts := func() (tools string) {
				t.Helper()
				s := open(t, w.jail(argv...), nil)
				list := s.call("tools/list", nil)
				if status := s.close(); list.Error != nil || status != 0 {
					t.Errorf("%s: status %d, %s, %s", line, status, list.Error, s.stderr.String())
				}
				return string(list.Result)
			}
			first := starts()
			name, _ := cutVersion(words[0])
			lock, err := os.ReadFile(filepath.Join(w.home, ".config/mcp-jail/mcp-jail.lock"))
			if err != nil || !strings.Contains(string(lock), name) || !strings.Contains(string(lock), "sha512-") {
				t.Errorf("it is not pinned: %v\n%s", err, lock)
			}
			site.Forget()
			if later := starts(); later != first || first == "" {
				t.Errorf("a later start lists %s, the first %s", later, first)
			}
			if asked := site.Requests(); len(asked) > 0 {
				t.Errorf("a later start asked the registry: %+v", asked)
			}
		})
	}
}

// cutVersion splits NAME@VERSION, whose name may begin with an @.
func cutVersion(spec string) (name, version string) {
	if at := strings.LastIndexByte(spec, '@'); at > 0 {
		return spec[:at], spec[at+1:]
	}
	return spec, ""
}
