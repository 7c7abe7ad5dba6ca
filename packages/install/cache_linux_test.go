package install

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit/registry"
)

// TestInstallOffline tests that a registry that cannot be reached is told at once, and that the
// user's cache of npm replaces it.
func TestInstallOffline(t *testing.T) {
	t.Parallel()
	site := registry.Start(t, registry.Stock{Packages: []registry.Package{plain("1.0.0"), server("1.0.0")}})
	filled, empty, lost := newUser(t, site.URL), newUser(t, site.URL), newUser(t, "http://registry.invalid")
	filled.fillCache()
	site.Close()
	for _, u := range []*user{empty, lost} {
		begin := time.Now()
		u.fails(u.installer(), "@scope/server", "cannot be reached", "the next start continues")
		t.Logf("told after %v", time.Since(begin))
	}
	c := filled.command(installerName, "@scope/server")
	if os.Getuid() == 0 {
		c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET} // there is no network at all
	}
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	filled.runs(filled.installer(), "@scope/server", "1.0.0")
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
				if err := damage(file); err != nil {
					t.Fatal(err)
				}
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
