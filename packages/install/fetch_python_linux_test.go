package install

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit/registry"
	"github.com/mcp-jail/mcp-jail/packages/installed"
	"github.com/mcp-jail/mcp-jail/packages/launcher"
	"github.com/mcp-jail/mcp-jail/packages/store"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

func TestPythonTry(t *testing.T) {
	w := registry.MCPServer{Name: "fixture-server"}.Wheel()
	w.Requires = []string{"needed-one>=1"}
	site := registry.Start(t, registry.Stock{Wheels: []registry.Wheel{w, {Name: "needed_one", Version: "1.5", Files: map[string]string{"needed_one.py": "x = 1\n"}}}})
	dir := t.TempDir()
	t.Setenv("PIP_INDEX_URL", site.URL+"/simple")
	t.Setenv("PIP_FIND_LINKS", "")
	host, err := hostfs.LocalHost()
	if err != nil {
		t.Fatal(err)
	}
	host.Dir = dir
	host.CacheDir = dir + "/cache"
	i := &Installer{Store: store.Store{Dir: filepath.Join(dir, "store")}, LockFile: filepath.Join(dir, "config", "mcp-jail.lock"), Host: host, Told: os.Stderr, Progress: func(p Progress) { t.Log(p) }}
	line, err := launcher.Parse([]string{"uvx", "fixture-server", "--x"})
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	r, err := i.Install(t.Context(), &line)
	t.Log(time.Since(begin), err)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", r.Entry)
	for range 3 {
		begin = time.Now()
		p, err := installed.Finder{Store: i.Store, LockFile: i.LockFile, Host: &host}.Find(t.Context(), &line)
		t.Log(time.Since(begin), err)
		if err != nil {
			t.Fatal(err)
		}
		err = p.Check()
		t.Log(time.Since(begin), err, p.Command, p.Arguments, p.Env, p.Bin)
		p.Close()
		filepath.WalkDir(p.Dir, func(name string, d os.DirEntry, err error) error { t.Log(name); return nil })
	}
	b, _ := os.ReadFile(i.LockFile)
	t.Logf("%.3000s", b)
}
