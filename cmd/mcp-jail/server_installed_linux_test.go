package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	fixture "github.com/mcp-jail/mcp-jail/internal/testkit/registry"
)

// newShop returns a world whose npm asks a registry of its own.
func newShop(t *testing.T, stock fixture.Stock) (*world, *fixture.Site) {
	t.Helper()
	need(t, "node")
	w := newWorld(t)
	t.Cleanup(func() { // its directories are read-only
		w.noneLeft(t) // an installation goes on without its client
		removeStore(t, w)
	})
	site := fixture.Start(t, stock)
	w.plant(t, w.home, map[string]string{".npmrc": "registry=" + site.URL + "/\nupdate-notifier=false\n"})
	return w, site
}

// removeStore removes what is installed. The lock file stays.
func removeStore(t *testing.T, w *world) {
	t.Helper()
	store := filepath.Join(w.home, ".local", "share", "mcp-jail")
	filepath.WalkDir(store, func(name string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			os.Chmod(name, 0o700)
		}
		return nil
	})
	must(t, os.RemoveAll(store))
}

// realPackages returns the packages of testdata/npm as they are installed.
func realPackages(t *testing.T) (all []fixture.Package) {
	t.Helper()
	must(t, filepath.WalkDir(filepath.Join(os.Getenv("MCPJAIL_SERVERS"), "node_modules"), func(dir string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "node_modules" {
			return err
		}
		plain, _ := filepath.Glob(filepath.Join(dir, "*", "package.json")) // the patterns are well-formed
		scoped, _ := filepath.Glob(filepath.Join(dir, "@*", "*", "package.json"))
		for _, file := range append(plain, scoped...) {
			p, err := fixture.FromDir(filepath.Dir(file))
			if err != nil {
				return err
			}
			all = append(all, p)
		}
		return nil
	}))
	return all
}

// TestMemoryInstalled follows the graph of the memory server, which npx keeps inside the package: here it is in the
// private HOME, and outlives updates.
func TestMemoryInstalled(t *testing.T) {
	testkit.NeedsLong(t)
	need(t, "npm")
	t.Parallel()
	w, site := newShop(t, fixture.Stock{Packages: realPackages(t)})
	argv := []string{"npx", "-y", memory}
	w.plant(t, w.home, map[string]string{".cursor/mcp.json": `{"mcpServers": {"m": {"command": "npx", "args": ["-y", "` + memory + `"]}}}`})
	// On a busy machine the installation takes longer than a client waits.
	w.output(t, "wrap", "--client", "cursor", "--yes")
	entry := testkit.ReadFile(t, filepath.Join(w.home, ".cursor/mcp.json"))
	_, id, _ := strings.Cut(entry, `"--id", "`)
	id, _, _ = strings.Cut(id, `"`)

	holds := func(names ...string) {
		t.Helper()
		s := open(t, w.jail(append([]string{"--id", id, "--"}, argv...)...), nil)
		r := s.tool("read_graph", map[string]any{})
		for _, name := range names {
			if r.IsError || !strings.Contains(r.texts(), `"`+name+`"`) {
				t.Errorf("%q is not in the graph: %s", name, r.texts())
			}
		}
		if r := s.tool("create_entities", remember); r.IsError {
			t.Errorf("create_entities: %s", r.texts())
		}
		if status := s.close(); status != 0 {
			t.Errorf("exit status %d", status)
		}
	}
	holds()
	holds("jail")

	next, err := fixture.FromDir(filepath.Dir(filepath.Dir(server(memory))))
	must(t, err)
	next.Files["package.json"] = strings.Replace(next.Files["package.json"], next.Version, "2099.1.1", 1)
	next.Version, next.Manifest["version"] = "2099.1.1", "2099.1.1"
	site.Publish(next)
	if out := w.output(t, "install", "--update", "--yes", "m"); !strings.Contains(out, "2099.1.1") {
		t.Errorf("the update said %s", out)
	}
	trees, _ := filepath.Glob(filepath.Join(w.home, ".local", "share", "mcp-jail", "packages", "npm", "*", "2099.1.1*"))
	if len(trees) != 1 {
		t.Errorf("the new version is in %q", trees)
	}
	holds("jail")
}
