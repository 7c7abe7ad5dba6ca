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
	"github.com/mcp-jail/mcp-jail/packages/lockfile"
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

// TestRecheck tests what becomes of an entry of which npm's cache may have decided what it is: the
// registry is asked, and the entry says whether it gives the same. The installed files stay.
func TestRecheck(t *testing.T) {
	t.Parallel()
	other := server("1.0.0")
	other.Files = map[string]string{"other.js": "// other\n"}
	maps.Copy(other.Files, server("1.0.0").Files)
	later := plain("1.1.0")
	later.Published = time.Now().Add(time.Hour)
	site := registry.Start(t, registry.Stock{Packages: []registry.Package{plain("1.0.0"), server("1.0.0")}})
	u := newUser(t, site.URL)
	i := u.installer()
	e := u.installs(i, "@scope/server").Entry
	if !e.Proven() {
		t.Fatalf("the source of a new entry is %q", e.Source)
	}
	doubted := *e
	doubted.Source = lockfile.FromCache
	for _, c := range []struct {
		name string
		now  []registry.Package // what the registry has then; nil: it is gone, and for what follows, too
		want lockfile.Source
	}{
		{"the same", []registry.Package{plain("1.0.0"), server("1.0.0")}, lockfile.FromRegistry},
		{"a newer one too", []registry.Package{plain("1.0.0"), later, server("1.0.0")}, lockfile.FromRegistry},
		{"something else", []registry.Package{plain("1.0.0"), other}, lockfile.Disputed},
		{"no such version", []registry.Package{plain("1.0.0"), server("2.0.0")}, lockfile.Disputed},
		{"no such package", []registry.Package{plain("1.0.0")}, lockfile.Disputed},
		{"it is unreachable", nil, lockfile.FromCache},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := lockfile.Update(i.LockFile, func(f *lockfile.File) error { return f.Set(&doubted) }); err != nil {
				t.Fatal(err)
			}
			site.Load(registry.Stock{Packages: c.now})
			if c.now == nil {
				site.Close()
			}
			if err := i.Recheck(t.Context(), line(t, "@scope/server")); (err != nil) != (c.now == nil) {
				t.Errorf("%v\n%s", err, u.told)
			}
			lock, err := lockfile.Load(i.LockFile)
			testkit.Must(t, err)
			now := lock.Find(e.Key)
			if now.Source != c.want || now.Tree != e.Tree || now.Files != e.Files {
				t.Errorf("%+v, want the source %q", now, c.want)
			}
			u.runs(i, "@scope/server", "1.0.0")
			if c.want != lockfile.FromRegistry {
				return
			}
			site.Forget()
			if err := i.Recheck(t.Context(), line(t, "@scope/server")); err != nil || len(site.Requests()) > 0 {
				t.Errorf("it was asked again: %v, %v", err, site.Requests())
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
