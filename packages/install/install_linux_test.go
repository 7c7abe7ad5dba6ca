package install

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/packages/launcher"
	"github.com/mcp-jail/mcp-jail/packages/installed"
	"github.com/mcp-jail/mcp-jail/packages/store"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

func TestMain(m *testing.M) {
	confine.RunSupervisor()
	os.Exit(m.Run())
}

func TestInstallTry(t *testing.T) {
	dir := t.TempDir()
	host, err := hostfs.LocalHost()
	if err != nil {
		t.Fatal(err)
	}
	host.Dir = dir
	host.CacheDir = dir + "/cache"
	i := &Installer{Store: store.Store{Dir: filepath.Join(dir, "store")}, LockFile: filepath.Join(dir, "config", "mcp-jail.lock"), Host: host, Told: os.Stderr, Progress: func(p Progress) { t.Log(p) }}
	line, err := launcher.Parse([]string{"npx", "-y", "@modelcontextprotocol/server-memory", "--x"})
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	r, err := i.Install(t.Context(), &line)
	t.Log(time.Since(begin), err)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v %d", r.Entry.File, len(r.Entry.Packages))
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
	}
	begin = time.Now()
	r, err = i.Install(t.Context(), &line)
	t.Log(time.Since(begin), err, r.Fetched)
	b, _ := os.ReadFile(i.LockFile)
	t.Logf("%.3000s", b)
}
