package catalog

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// npmServers is where the real servers are installed.
func npmServers(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("MCPJAIL_SERVERS")
	named := dir != ""
	if !named {
		dir = "../../testdata/npm"
	}
	modules, err := filepath.Abs(filepath.Join(dir, "node_modules"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(modules, "@modelcontextprotocol")); err != nil {
		if named {
			t.Fatalf("MCPJAIL_SERVERS: %v", err)
		}
		t.Skip("MCPJAIL_SERVERS is not set, and the servers of testdata/npm are not installed; make test installs them")
	}
	return modules
}

// TestRealPackages: installing another version of a real package changes the fingerprint.
func TestRealPackages(t *testing.T) {
	t.Parallel()
	s, npm := newSite(t, "bin/node !"), npmServers(t)
	prints := map[string]string{}
	for _, script := range []string{"server-filesystem/dist/index.js", "server-everything/dist/index.js", "server-memory/dist/index.js"} {
		script = "@modelcontextprotocol/" + script
		first, err := Fingerprint(s.profile("node", filepath.Join(npm, script), "."))
		if err != nil {
			t.Fatal(err)
		}
		if second, err := Fingerprint(s.profile("node", filepath.Join(npm, script), ".")); err != nil || second != first {
			t.Errorf("%s: another one at once, %v", script, err)
		}
		if prints[first] != "" {
			t.Errorf("%s has that of %s", script, prints[first])
		}
		prints[first] = script
	}

	// A copy, to install things in.
	const server = "@modelcontextprotocol/server-filesystem"
	modules := filepath.Join(s.root, "opt/node_modules")
	if err := os.CopyFS(filepath.Join(modules, server), os.DirFS(filepath.Join(npm, server))); err != nil {
		t.Fatal(err)
	}
	lock, err := os.ReadFile(filepath.Join(npm, ".package-lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	var last string
	for _, change := range []string{".package-lock.json", server + "/package.json", server + "/dist/lib.js", server + "/dist/index.js", ""} {
		time.Sleep(tick)
		if change != "" {
			if err := os.WriteFile(filepath.Join(modules, change), lock, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		now, err := Fingerprint(s.profile("node", filepath.Join(modules, server, "dist/index.js"), "."))
		if err != nil {
			t.Fatal(err)
		}
		if (now != last) != (change != "") {
			t.Errorf("after %q: changed %v", change, now != last)
		}
		last = now
	}
}

func BenchmarkFingerprint(b *testing.B) {
	s, npm := newSite(b, "bin/node !"), npmServers(b)
	for _, script := range []string{"server-filesystem/dist/index.js", "server-everything/dist/index.js"} {
		p := s.profile("node", filepath.Join(npm, "@modelcontextprotocol", script), ".")
		b.Run(strings.TrimSuffix(script, "/dist/index.js"), func(b *testing.B) {
			for b.Loop() {
				if _, err := Fingerprint(p); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
