package install

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
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
	testkit.Must(t, os.MkdirAll(outside, 0o700))
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
		tree := testkit.Get(i.Store.Open(installed.ID(r.Entry)))(t)
		defer tree.Close()
		info, err := os.Lstat(tree.Dir)
		t.Fatalf("the tree is %v, %v; check %v\n%s", info.Mode(), err, tree.Check(r.Entry.Files), u.told)
	}
	testkit.Fails(t, u.told, err, "is not as npm made it")
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
// in which pip resolves has the network, and the logins of the index. The kernel refuses the build.
func TestPythonAddress(t *testing.T) {
	u := newPythonUser(t)
	attack := registry.Attack{Send: []string{u.site.URL + "/-/loot"}, Report: "/nowhere/attempts"}
	address := u.site.URL + "/files/source-1.0.tar.gz"
	u.site.Upload(registry.Wheel{Name: "source", Version: "1.0", Build: attack.Python()}, serverWheel("outer", "source @ "+address))
	sent := func() bool {
		return slices.ContainsFunc(u.site.Requests(), func(q registry.Request) bool { return q.Path == "/-/loot" })
	}
	u.fails("is an archive of sources", "uvx", "outer")
	u.Scripts = true // which builds what the index has, and nothing from an address
	u.fails("is an archive of sources", "uvx", "outer")
	if sent() {
		t.Error("the code of a package has run, with the network of the index")
	}
	out, err := exec.Command("python3", "-m", "pip", "download", "--no-deps", "--dest", t.TempDir(), address).CombinedOutput()
	if !sent() {
		t.Errorf("the control: pip has not run the code: %v\n%s", err, out)
	}
}

// TestSamePath: two packages that write one file are not installed together, whichever of them is
// written last. A file that both have in the same form is none.
func TestSamePath(t *testing.T) {
	for _, c := range testkit.Table[struct {
		name           string
		files, scripts map[string]string // of the dependency
		want           string
		short          bool // in make test: one row for each way to a file
	}](t, "same-path.txt") {
		t.Run(c.name, func(t *testing.T) {
			if !c.short {
				testkit.NeedsLong(t)
			}
			good := serverWheel("good", "dep")
			good.Version, good.Files["shared/__init__.py"] = "1.0", "# both\n"
			u := newPythonUser(t, good, registry.Wheel{Name: "dep", Version: "1.0", Files: c.files, Scripts: c.scripts})
			_, err := u.Install(t.Context(), u.line("uvx", "good"))
			both := []string{"the packages dep-1.0 and good-1.0 both write " + c.want, "the packages good-1.0 and dep-1.0 both write " + c.want}
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), both[0]+",") && !strings.Contains(err.Error(), both[1]+",") {
				t.Error(err)
			}
		})
	}
}

// TestSameSums: a package that lists the sum of another's file, and has other content, has written it
// all the same.
func TestSameSums(t *testing.T) {
	dir := t.TempDir()
	const usual = "# both\n"
	sum := sha256.Sum256([]byte(usual))
	row := "shared/__init__.py,sha256=" + base64.RawURLEncoding.EncodeToString(sum[:]) + ",7\n"
	for _, info := range []string{"a-1.dist-info", "b-1.dist-info"} {
		testkit.WriteFile(t, filepath.Join(dir, info+".RECORD"), row)
		testkit.Must(t, errors.Join(os.Mkdir(filepath.Join(dir, info), 0o700), os.Rename(filepath.Join(dir, info+".RECORD"), filepath.Join(dir, info, "RECORD"))))
	}
	testkit.Must(t, os.Mkdir(filepath.Join(dir, "shared"), 0o700))
	root := testkit.Get(os.OpenRoot(dir))(t)
	defer root.Close()
	for text, want := range map[string]bool{usual: true, "EVIL = 1\n": false} {
		testkit.WriteFile(t, filepath.Join(dir, "shared", "__init__.py"), text)
		testkit.Equal(t, text, (checkPaths("linux", root, []string{"a-1.dist-info", "b-1.dist-info"}) == nil), want)
	}
}
