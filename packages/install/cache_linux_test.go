package install

import (
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/internal/testkit/registry"
)

// TestInstallOffline tests that a registry that cannot be reached is told at once, with the reason
// why a full cache of npm does not replace it.
func TestInstallOffline(t *testing.T) {
	t.Parallel()
	site := registry.Start(t, registry.Stock{Packages: []registry.Package{plain("1.0.0"), server("1.0.0")}})
	filled, empty, lost := newUser(t, site.URL), newUser(t, site.URL), newUser(t, "http://registry.invalid")
	filled.fillCache()
	site.Close()
	for _, u := range []*user{empty, lost, filled} {
		begin := time.Now()
		u.fails(u.installer(), "@scope/server", "the registry did not answer", "the next try goes on with it")
		t.Logf("told after %v", time.Since(begin))
	}
}

// TestInstallFullCache tests that a full cache of npm saves the downloads of archives, and never
// decides what a package is: a server may have written another answer of the registry there.
func TestInstallFullCache(t *testing.T) {
	t.Parallel()
	packages := []registry.Package{plain("1.0.0"), server("1.0.0")}
	forged := server("1.0.0")
	forged.Files = map[string]string{"evil.js": "// forged\n"}
	maps.Copy(forged.Files, server("1.0.0").Files)
	for name, cached := range map[string]registry.Package{"honest": packages[1], "forged": forged} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			site := registry.Start(t, registry.Stock{Packages: []registry.Package{plain("1.0.0"), cached}})
			u := newUser(t, site.URL)
			u.fillCache()
			site.Publish(packages[1])
			site.Forget()
			u.installs(u.installer(), "@scope/server")
			u.runs(u.installer(), "@scope/server", "1.0.0")
			if file := has(t, u.installer().Store.Dir, "forged"); file != "" {
				t.Errorf("npm's cache decided what the package is: %s", file)
			}
			var archives, answers int
			for _, r := range site.Requests() {
				if strings.HasSuffix(r.Path, ".tgz") {
					archives++
				} else {
					answers++
				}
			}
			if want := map[string]int{"honest": 0, "forged": 1}[name]; archives != want || answers < 2 {
				t.Errorf("npm asked for %d archives and %d answers, want %d archives and the metadata of each package", archives, answers, want)
			}
		})
	}
}

// TestInstallDamagedCache tests that damage in the user's cache of npm costs no more than
// requests, and that nothing is mended there.
func TestInstallDamagedCache(t *testing.T) {
	t.Parallel()
	site := registry.Start(t, registry.Stock{Packages: []registry.Package{plain("1.0.0"), server("1.0.0")}})
	for name, damage := range map[string]func(file string) error{
		"other content": func(file string) error { return os.WriteFile(file, []byte("damaged"), 0o600) },
		"missing":       os.Remove,
		"a broken link": func(file string) error { return errors.Join(os.Remove(file), os.Symlink("/nonexistent", file)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := newUser(t, site.URL)
			u.fillCache()
			content, err := filepath.Glob(filepath.Join(u.host.Home, ".npm", "_cacache", "content-v2", "sha512", "*", "*", "*"))
			if err != nil || len(content) < 4 {
				t.Fatalf("%q, %v", content, err)
			}
			for _, file := range content {
				testkit.Must(t, damage(file))
			}
			u.installs(u.installer(), "@scope/server")
			u.runs(u.installer(), "@scope/server", "1.0.0")
			for _, file := range content {
				if text, err := os.ReadFile(file); err == nil && string(text) != "damaged" {
					t.Errorf("the user's cache was changed: %s has %q", file, text)
				}
			}
		})
	}
}

// fillCache has the user install @scope/server by npm.
func (u *user) fillCache() {
	u.t.Helper()
	npm := exec.Command("npm", "install", "--prefix", u.t.TempDir(), "@scope/server")
	npm.Dir, npm.Env = u.host.Home, u.host.Environ
	if out, err := npm.CombinedOutput(); err != nil {
		u.t.Fatalf("%v\n%s", err, out)
	}
}
