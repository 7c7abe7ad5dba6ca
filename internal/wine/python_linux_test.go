package wine

import (
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/internal/testkit/registry"
)

// python is the Python for Windows with its pip, in a directory as the installer of Windows has it.
var python struct {
	once sync.Once
	dir  string // of Windows
	err  error
}

// newIndex starts an index of Python with wheels until the test ends.
func (h *host) newIndex(t *testing.T, wheels ...registry.Wheel) *shop {
	t.Helper()
	module := os.Getenv("MCPJAIL_WINE_PYTHON")
	if module == "" {
		testkit.Skip(t, "wine", "MCPJAIL_WINE_PYTHON names no directory of a module: testdata/test.sh downloads it")
	}
	python.once.Do(func() { python.dir, python.err = h.makePython(module) })
	testkit.Must(t, python.err)
	s := h.openShop(t, registry.Stock{Wheels: wheels})
	s.env["WINEPATH"], s.env["PIP_INDEX_URL"] = python.dir, s.site.URL+"/simple"
	return s
}

// makePython unpacks the files of the module. The directories belong to the user, as those of an installer
// without an administrator do: Python keeps compiled modules there, and so compiles them once. One module is
// added. A directory for the user alone has an access list of administrators, the system and "the owner" from
// Python. Wine 8 does not know who that is, and in a jail the user is no administrator.
func (h *host) makePython(module string) (windows string, err error) {
	dir := filepath.Join(h.dir, "python")
	const forAll = "import os\nmkdir = os.mkdir\nos.mkdir = lambda path, mode=0o777, **more: mkdir(path, **more)\n"
	err = errors.Join(
		unpack(filepath.Join(module, "python/internal/data/windows-amd64"), dir),
		unpack(filepath.Join(module, "pip/internal/data"), filepath.Join(dir, "Lib/site-packages")),
		os.WriteFile(filepath.Join(dir, "Lib/sitecustomize.py"), []byte(forAll), 0o644),
		// An installer has headers too, which tell the version: python.exe is not asked, for which it has three seconds.
		os.Mkdir(filepath.Join(dir, "include"), 0o755), os.WriteFile(filepath.Join(dir, "include/patchlevel.h"), []byte("#define PY_VERSION \"3.11.11\"\n"), 0o644),
		filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
			if err != nil || h.user == nil || !entry.IsDir() && entry.Name() != "python.exe" {
				return err
			}
			return os.Chown(file, int(h.user.Uid), int(h.user.Gid))
		}))
	return h.windowsPath(dir), err
}

// unpack copies a directory. The module has its larger files compressed.
func unpack(from, to string) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		at := to + strings.TrimPrefix(path, from)
		if err != nil || entry.IsDir() {
			return errors.Join(err, os.MkdirAll(at, 0o755))
		}
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		defer file.Close()
		var content io.Reader = file
		if plain, ok := strings.CutSuffix(at, ".gz"); ok {
			if content, err = gzip.NewReader(file); err != nil {
				return err
			}
			at = plain
		}
		out, err := os.OpenFile(at, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
		if err != nil {
			return err
		}
		_, err = io.Copy(out, content)
		return errors.Join(err, out.Close())
	})
}

// TestUvx: a server in Python with a package that only Windows needs, from its line of uvx to its removal. No
// source distribution is taken. A changed file ends a start; the start after it, with the file as it was, is the
// control, and asks nothing of the index.
func TestUvx(t *testing.T) {
	t.Parallel()
	server := registry.MCPServer{}.Wheel()
	server.Requires = []string{`needed>=1; sys_platform == "win32"`, `of-linux; sys_platform == "linux"`}
	server.Files["mcp_fixture/__init__.py"] = "import needed\n" + server.Files["mcp_fixture/__init__.py"]
	s := start(t).newIndex(t, server,
		registry.Wheel{Name: "needed", Version: "1.5", Files: map[string]string{"needed/__init__.py": "FOUND = True\n"}},
		registry.Wheel{Name: "only-source", Version: "1", Build: "raise SystemExit('it was built')"})
	data := s.env["XDG_DATA_HOME"]
	s.env["XDG_DATA_HOME"] = s.windowsPath(s.work) // what was fetched in vain is kept for the next time
	s.do(t, 1, slices.Concat([]string{"install", "--install-scripts"}, accepted, []string{"--", "uvx", "only-source"})...).says(t, "only-source has no wheel for this machine", "refused on Windows", "WSL 2")
	s.env["XDG_DATA_HOME"] = data
	line := []string{"--", "uvx", "mcp-fixture"}
	s.do(t, 0, slices.Concat([]string{"install"}, accepted, line)...).says(t, "ready: mcp-fixture 1.0.0, 5 tools")
	asked := map[string]int{}
	for _, q := range s.site.Requests() {
		asked[path.Base(q.Path)]++
		if !strings.HasPrefix(q.Header.Get("User-Agent"), "pip/") {
			t.Errorf("%q asks for %s", q.Header.Get("User-Agent"), q.Path)
		}
	}
	if len(asked) == 0 || asked["of-linux"] > 0 || asked["only_source-1.tar.gz"] > 0 || asked["needed-1.5-py3-none-any.whl"] != 1 {
		t.Errorf("the index was asked for %v", asked)
	}
	s.site.Close()
	s.do(t, 3, append([]string{"plan"}, line...)...).says(t, "package mcp-fixture 1.0.0, pinned", python.dir+`\python.exe runs it without uvx`,
		"program "+python.dir+`\python.exe`, `\tree\bin\mcp-fixture`)
	s.refusesChanged(t, line)
	client := s.client(t, line)
	if said := client.tool(t, "about", "{}"); !strings.Contains(said, `"version": "1.0.0"`) || !strings.Contains(said, strconv.Quote(python.dir+`\python.exe`)) {
		t.Errorf("the server says %s", said)
	}
	if status := client.close(t); status != 0 {
		t.Errorf("status %d", status)
	}
	s.afterwards(t, record{"mcp-fixture", "mcp-fixture", "1.0.0"})
}

// refusesChanged tests that no server starts from a changed file, and changes it back.
func (s *shop) refusesChanged(t *testing.T, line []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(s.own, "data/mcp-jail/packages/pypi/mcp-fixture/*/tree/site/needed/__init__.py"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	before, err := os.ReadFile(files[0])
	testkit.Must(t, err)
	testkit.Must(t, os.Chmod(files[0], 0o644), os.WriteFile(files[0], append(before, "FOUND = False\n"...), 0o644))
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}` + "\n"
	r := s.jail(t, command{args: slices.Concat([]string{"run"}, accepted, line), env: s.env, dir: s.work, stdin: hello})
	if r.says(t, "are not those that were pinned (changed: site/needed/__init__.py)", `"code":-31001`); r.status != 1 {
		t.Error(r)
	}
	testkit.Must(t, os.WriteFile(files[0], before, 0o444), os.Chmod(files[0], 0o444))
}
