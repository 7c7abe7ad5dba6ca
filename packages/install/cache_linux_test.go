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
	npm := exec.Command("npm", "install", "--prefix", t.TempDir(), "@scope/server")
	npm.Dir, npm.Env = filled.host.Home, filled.host.Environ
	if out, err := npm.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
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

// TestInstallDamagedCache tests that damage in the user's cache of npm costs no more than a
// request.
func TestInstallDamagedCache(t *testing.T) {
	t.Parallel()
	site := registry.Start(t, registry.Stock{Packages: []registry.Package{plain("1.0.0"), server("1.0.0")}})
	u := newUser(t, site.URL)
	npm := exec.Command("npm", "install", "--prefix", t.TempDir(), "@scope/server")
	npm.Dir, npm.Env = u.host.Home, u.host.Environ
	if out, err := npm.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	content, err := filepath.Glob(filepath.Join(u.host.Home, ".npm", "_cacache", "content-v2", "sha512", "*", "*", "*"))
	if err != nil || len(content) < 4 {
		t.Fatalf("%q, %v", content, err)
	}
	for n, file := range content {
		switch n % 3 {
		case 0:
			err = os.WriteFile(file, []byte("damaged"), 0o600)
		case 1:
			err = os.Remove(file)
		case 2:
			err = errors.Join(os.Remove(file), os.Symlink("/nonexistent", file))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	u.installs(u.installer(), "@scope/server")
	u.runs(u.installer(), "@scope/server", "1.0.0")
	for n, file := range content {
		if text, err := os.ReadFile(file); n%3 == 0 && (err != nil || string(text) != "damaged") {
			t.Errorf("the user's cache was changed: %s has %q, %v", file, text, err)
		}
	}
}
