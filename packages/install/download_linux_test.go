package install

import (
	"fmt"
	"io/fs"
	"os"
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

// likeNPM are trees that npm and package download make alike. where says which of the two puts the
// archives into their places.
var likeNPM = []struct {
	name  string
	needs map[string]string // of the server
	by    string            // "download" or "npm"
	stock []registry.Package
	long  bool // not in make test
}{
	{"a version in two places", map[string]string{"a": "1", "b": "1", "x": "2"}, "download", []registry.Package{
		odd("a", registry.Package{Dependencies: map[string]string{"x": "^1.0.0"}}), odd("b", registry.Package{Dependencies: map[string]string{"x": "~1.0"}}), leaf("x", "1.0.0"), leaf("x", "1.0.5"), leaf("x", "2.0.0"),
	}, false},
	{"programs, scopes and modes", map[string]string{"@s/a": "1", "b": "1"}, "download", []registry.Package{
		odd("@s/a", registry.Package{Bin: map[string]any{"one": "./index.js", "two": "bin/two"}, Files: map[string]string{"bin/two": "x", "w": "", "deep/er/f": ""}, Modes: map[string]int64{"w": 0o600, "deep/er/f": 0o777}, Dependencies: map[string]string{"x": "1"}}),
		odd("b", registry.Package{Bin: "index.js", Dependencies: map[string]string{"x": "2"}}), odd("x", registry.Package{Bin: "index.js"}), leaf("x", "2.0.0"),
	}, false},
	{"ignored files", map[string]string{"a": "1", "b": "1"}, "download", []registry.Package{
		odd("a", registry.Package{Files: map[string]string{".gitignore": "git"}}), odd("b", registry.Package{Files: map[string]string{".gitignore": "git", ".npmignore": "npm", "d/.gitignore": "d"}}),
	}, true},
	{"peers and aliases", map[string]string{"a": "1", "other": "npm:x@1"}, "download", []registry.Package{
		odd("a", registry.Package{Peer: map[string]string{"x": ">=1"}, Manifest: map[string]any{"peerDependenciesMeta": map[string]any{"y": map[string]bool{"optional": true}}}}), leaf("x", "1.0.0"), leaf("x", "3.0.0-beta"), leaf("x", "2.0.0"),
	}, true},
	{"packages for other systems, and what only they need", map[string]string{"a": "1"}, "download", []registry.Package{
		odd("a", registry.Package{Optional: map[string]string{"here": "1", "there": "1", "musl": "1", "glibc": "1", "new": "1"}}), odd("here", registry.Package{OS: []string{"linux"}, Dependencies: map[string]string{"both": "1"}}),
		odd("there", registry.Package{OS: []string{"!linux"}, Dependencies: map[string]string{"both": "1", "lost": "1"}}), leaf("both", "1.0.0"), odd("lost", registry.Package{Dependencies: map[string]string{"lost2": "1"}}), leaf("lost2", "1.0.0"),
		odd("musl", registry.Package{OS: []string{"linux"}, Manifest: map[string]any{"libc": []string{"musl"}}}), odd("glibc", registry.Package{OS: []string{"linux"}, Manifest: map[string]any{"libc": []string{"glibc"}}}),
		odd("new", registry.Package{Engines: map[string]string{"node": ">=900"}}),
	}, false},
	{"two programs of one name", map[string]string{"a": "1", "b": "1"}, "npm", []registry.Package{
		odd("a", registry.Package{Bin: map[string]any{"p": "index.js"}}), odd("b", registry.Package{Bin: map[string]any{"p": "index.js"}}),
	}, false},
	{"a package inside of another's archive", map[string]string{"a": "1"}, "npm", []registry.Package{
		odd("a", registry.Package{Dependencies: map[string]string{"x": "1"}, Manifest: map[string]any{"bundleDependencies": []string{"x"}}, Files: map[string]string{"node_modules/x/package.json": `{"name":"x","version":"1.0.0"}`}}), leaf("x", "1.0.0"),
	}, false},
	{"a file that npm builds, and no script", map[string]string{"a": "1"}, "npm", []registry.Package{
		odd("a", registry.Package{Files: map[string]string{"binding.gyp": "{}"}}),
	}, true},
	{"a folder of packages that no field names", map[string]string{"a": "1"}, "npm", []registry.Package{
		odd("a", registry.Package{Files: map[string]string{"node_modules/x/index.js": "x"}}),
	}, true},
}

// TestDownloadLikeNPM: what is put into its place ahead of npm is what npm installs, file by file, and
// the lock file says the same of both. So one can repair what the other has installed.
func TestDownloadLikeNPM(t *testing.T) {
	t.Parallel()
	for _, c := range likeNPM {
		t.Run(c.name, func(t *testing.T) {
			if c.long {
				testkit.NeedsLong(t)
			}
			t.Parallel()
			site := registry.Start(t, registry.Stock{Packages: append(c.stock, registry.MCPServer{Name: "server", Version: "1.0.0", Dependencies: c.needs}.Package())})
			var trees [2]string
			for n, companion := range []bool{true, false} {
				u := newUser(t, site.URL)
				i := u.installer()
				if !companion {
					i.Companion = ""
				}
				e := u.installs(i, "server").Entry
				u.runs(i, "server", "1.0.0")
				trees[n] = fmt.Sprintln(e.Tree, e.Files, listOf(t, filepath.Join(i.Store.Dir, "npm"), installed.ID(e).String()))
				asked := map[string]int{}
				for _, r := range site.Requests() {
					if asked[r.Path]++; companion && c.by == "download" && asked[r.Path] > 1 {
						t.Errorf("%s was asked for again", r.Path)
					}
				}
				site.Forget()
				if by := u.told.String(); companion && strings.Contains(by, "added") != (c.by == "npm") {
					t.Errorf("npm said %q, want the tree by %s", by, c.by)
				}
			}
			if trees[0] != trees[1] && c.name != "two programs of one name" { // npm makes one of the two executable, by chance
				t.Errorf("ahead of npm:\n%s\nby npm:\n%s", trees[0], trees[1])
			}
		})
	}
}

// listOf returns the names, modes, links and contents of a tree.
func listOf(t *testing.T, dir, what string) string {
	t.Helper()
	var out strings.Builder
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() == "seal" {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, name)
		text := ""
		if d.Type()&fs.ModeSymlink != 0 {
			text, _ = os.Readlink(name)
		} else if d.Type().IsRegular() {
			content, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			text = string(content)
		}
		fmt.Fprintf(&out, "%s %s %q\n", rel, info.Mode(), text[:min(len(text), 60)])
		return nil
	})
	if err != nil || out.Len() < 100 {
		t.Fatal(what, err)
	}
	return out.String()
}
