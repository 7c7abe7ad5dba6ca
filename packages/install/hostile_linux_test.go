package install

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit/registry"
	"github.com/mcp-jail/mcp-jail/packages/installed"
)

// TestScriptMovesItsTree: a script that puts a link in the place of the tree cannot choose which
// files are installed.
func TestScriptMovesItsTree(t *testing.T) {
	t.Parallel()
	site := registry.Start(t, registry.Stock{})
	u := newUser(t, site.URL)
	outside := filepath.Join(u.dir, "state", "outside")
	if err := os.MkdirAll(outside, 0o700); err != nil {
		t.Fatal(err)
	}
	p := plain("1.0.0")
	p.Files = map[string]string{"main.js": "#!/usr/bin/env node\n"}
	p.Bin = "main.js"
	p.Scripts = map[string]string{"postinstall": `mv "$HOME/work" "$HOME/kept" && ln -s '` + outside + `' "$HOME/work"`}
	site.Publish(p)
	i := u.installer()
	i.Scripts = true
	r, err := i.Install(t.Context(), line(t, "plain"))
	jailed(t, err)
	if err == nil {
		tree, err := i.Store.Open(installed.ID(r.Entry))
		if err != nil {
			t.Fatal(err)
		}
		defer tree.Close()
		info, err := os.Lstat(tree.Dir)
		t.Fatalf("the tree is %v, %v; check %v\n%s", info.Mode(), err, tree.Check(r.Entry.Files), u.told)
	}
	if !strings.Contains(err.Error(), "is no directory") {
		t.Errorf("%v\n%s", err, u.told)
	}
}

// TestGitDependency: a package cannot have git run, whose repositories bring code along that runs
// although scripts are off.
func TestGitDependency(t *testing.T) {
	t.Parallel()
	site := registry.Start(t, registry.Stock{})
	u := newUser(t, site.URL)
	p := plain("1.0.0")
	p.Dependencies = map[string]string{"other": "git+" + site.URL + "/other.git"}
	site.Publish(p)
	_, err := u.installer().Install(t.Context(), line(t, "plain"))
	jailed(t, err)
	if err == nil || !strings.Contains(err.Error(), "is a git repository") {
		t.Errorf("%v\n%s", err, u.told)
	}
	for _, q := range site.Requests() {
		if strings.Contains(q.Path, "other.git") {
			t.Errorf("git has asked for %s", q.Path)
		}
	}
}

// TestBuildBlocksTheLog: what the build of a source distribution leaves in the place of pip's log
// does not hold up the installation.
func TestBuildBlocksTheLog(t *testing.T) {
	u := newPythonUser(t, registry.Wheel{Name: "built", Version: "1.0", Build: `
import os
log = os.environ["PIP_LOG"]
os.remove(log)
os.mkfifo(log)
os._exit(1)
`})
	u.Scripts = true
	u.fails("status 1", "uvx", "built")
}

// TestPythonAddress: a package cannot have the sources at an address built without leave. The jail
// in which pip resolves has the network, and the credentials of the index.
func TestPythonAddress(t *testing.T) {
	u := newPythonUser(t)
	attack := registry.Attack{Send: []string{u.site.URL + "/-/loot"}, Report: "/nowhere/attempts"}
	u.site.Upload(registry.Wheel{Name: "source", Version: "1.0", Build: attack.Python()}, serverWheel("outer", "source @ "+u.site.URL+"/files/source-1.0.tar.gz"))
	u.fails("is an archive of sources", "uvx", "outer")
	for _, q := range u.site.Requests() {
		if q.Path == "/-/loot" {
			t.Error("the code of a package has run, with the network of the index")
		}
	}
}
