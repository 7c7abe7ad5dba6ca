package install

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/internal/testkit/registry"
	"github.com/mcp-jail/mcp-jail/packages/installed"
)

// odd is a package whose unpacking has rules, and leaf one without any.
func odd(name string, more registry.Package) registry.Package {
	more.Name, more.Version = name, "1.0.0"
	if more.Files == nil {
		more.Files = map[string]string{}
	}
	more.Files["index.js"] = "#!/usr/bin/env node\n"
	return more
}

func leaf(name, version string) registry.Package {
	return registry.Package{Name: name, Version: version, Files: map[string]string{"index.js": name + version}}
}

// TestTreeOfOddPackages: what is installed is npm's own tree.
func TestTreeOfOddPackages(t *testing.T) {
	t.Parallel()
	needs := map[string]string{"@s/a": "1", "b": "1", "c": "1", "x": "2"}
	u := newUser(t, registry.Start(t, registry.Stock{Packages: []registry.Package{
		registry.MCPServer{Name: "server", Version: "1.0.0", Dependencies: needs}.Package(),
		odd("@s/a", registry.Package{Bin: map[string]any{"one": "./index.js", "two": "bin/two"}, Files: map[string]string{"bin/two": "x", "w": ""}, Modes: map[string]int64{"w": 0o600}, Dependencies: map[string]string{"x": "^1.0.0"}}),
		odd("b", registry.Package{Peer: map[string]string{"x": ">=1"}, Files: map[string]string{".gitignore": "git"}, Optional: map[string]string{"here": "1", "there": "1", "new": "1"}}),
		odd("c", registry.Package{Dependencies: map[string]string{"y": "1"}, Manifest: map[string]any{"bundleDependencies": []string{"y"}}, Files: map[string]string{"node_modules/y/package.json": `{"name":"y","version":"1.0.0"}`, "node_modules/y/index.js": ""}}),
		odd("here", registry.Package{OS: []string{"linux"}}), odd("there", registry.Package{OS: []string{"!linux"}, Dependencies: map[string]string{"lost": "1"}}), leaf("lost", "1.0.0"),
		odd("new", registry.Package{Engines: map[string]string{"node": ">=900"}}), leaf("x", "1.0.0"), leaf("x", "1.0.5"), leaf("x", "2.0.0"), leaf("y", "1.0.0"),
	}}).URL)
	u.hasTreeOfNPM("server")
}

// TestTreeOfRealServers is the same with the packages of testdata/npm.
func TestTreeOfRealServers(t *testing.T) {
	testkit.NeedsLong(t)
	dir := os.Getenv("MCPJAIL_SERVERS")
	if dir == "" {
		testkit.Skip(t, "servers", "MCPJAIL_SERVERS names no installed servers")
	}
	var stock registry.Stock
	testkit.Must(t, filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if parent := filepath.Base(filepath.Dir(name)); err != nil || !d.IsDir() || parent != "node_modules" && parent[0] != '@' {
			return err
		}
		if _, err := os.Stat(filepath.Join(name, "package.json")); err != nil {
			return nil
		}
		p, err := registry.FromDir(name)
		stock.Packages = append(stock.Packages, p)
		return err
	}))
	text := testkit.ReadFile(t, "../../testdata/npm/package.json")
	var wanted struct{ Dependencies map[string]string }
	testkit.Must(t, json.Unmarshal([]byte(text), &wanted))
	words := []string{}
	for name, version := range wanted.Dependencies {
		if !strings.HasPrefix(version, "npm:") { // npx takes the alias for another package
			words = append(words, "-p", name+"@"+version)
		}
	}
	newUser(t, registry.Start(t, stock).URL).hasTreeOfNPM(append(words, "mcp-server-memory")...)
}

// hasTreeOfNPM installs the packages of a line, and has npm do it without a jail.
func (u *user) hasTreeOfNPM(words ...string) {
	u.t.Helper()
	i, l := u.installer(), line(u.t, words...)
	r, err := i.Install(u.t.Context(), l)
	jailed(u.t, err)
	testkit.Must(u.t, err)
	tree, err := i.Store.Open(installed.ID(r.Entry))
	testkit.Must(u.t, err)
	defer tree.Close()
	dir := testkit.ShortDir(u.t)
	npm := exec.Command("npm", "install", "--ignore-scripts", "--prefix", dir)
	for _, p := range l.Packages {
		npm.Args = append(npm.Args, p.Raw)
	}
	npm.Dir, npm.Env = dir, u.host.Environ
	out, err := npm.CombinedOutput()
	if err != nil {
		u.t.Fatalf("%v\n%s", err, out)
	}
	testkit.Must(u.t, os.Remove(filepath.Join(dir, "node_modules", ".package-lock.json")))
	got, want := listOf(u.t, filepath.Join(tree.Dir, "node_modules")), listOf(u.t, filepath.Join(dir, "node_modules"))
	if got != want {
		u.t.Errorf("%s has the tree\n%s\nand npm's own is\n%s", l.Packages[0], got, want)
	}
}

// listOf returns the names, links and contents of a tree, and which files may be executed.
func listOf(t testing.TB, dir string) string {
	t.Helper()
	var out strings.Builder
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text, _ := os.Readlink(name)
		if d.Type().IsRegular() {
			content, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			text = fmt.Sprintf("%x", sha256.Sum256(content))
		}
		rel, _ := filepath.Rel(dir, name)
		fmt.Fprintf(&out, "%s %v %s\n", rel, info.Mode()&0o100 != 0, text)
		return nil
	})
	if err != nil || out.Len() < 100 {
		t.Fatal(dir, err)
	}
	return out.String()
}

// TestNodeOfPackage tests the line npx -p PKG node FILE: node of PATH runs the file, beside the programs of the package.
func TestNodeOfPackage(t *testing.T) {
	t.Parallel()
	u := newUser(t, registry.Start(t, registry.Stock{Packages: []registry.Package{plain("1.0.0"), server("1.0.0")}}).URL)
	i, l := u.installer(), line(t, "-p", "@scope/server", "node", "main.js", "x")
	_, err := i.Install(t.Context(), l)
	jailed(t, err)
	testkit.Must(t, err)
	p, err := installed.Finder{Store: i.Store, LockFile: i.LockFile, Host: &i.Host}.Find(t.Context(), l)
	testkit.Must(t, err)
	defer p.Close()
	testkit.Equal(t, "what starts", filepath.Base(p.Command)+" "+strings.Join(p.Arguments, " "), "node main.js x")
	testkit.Works(t, "the package's programs", testkit.ErrorOf(os.Stat(p.Bin)))
}
