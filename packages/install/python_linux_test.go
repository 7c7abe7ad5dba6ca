package install

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/internal/testkit/registry"
	"github.com/mcp-jail/mcp-jail/packages/installed"
	"github.com/mcp-jail/mcp-jail/packages/python"
	"github.com/mcp-jail/mcp-jail/packages/runline"
	"github.com/mcp-jail/mcp-jail/packages/store"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// pythonUser is a user with an index and an empty store.
type pythonUser struct {
	*Installer
	t    *testing.T
	site *registry.Site
}

var pipMissing = sync.OnceValue(func() error {
	out, err := exec.Command("python3", "-m", "pip", "--version").CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w %s", err, out)
	}
	return nil
})

func newPythonUser(t *testing.T, wheels ...registry.Wheel) pythonUser {
	t.Helper()
	if err := pipMissing(); err != nil {
		testkit.Skip(t, "python3", "with pip: %v", err)
	}
	site := registry.Start(t, registry.Stock{Wheels: wheels})
	for name, value := range map[string]string{"PIP_INDEX_URL": site.URL + "/simple", "PIP_FIND_LINKS": "", "PIP_EXTRA_INDEX_URL": "", "UV_INDEX_URL": "", "UV_DEFAULT_INDEX": "", "UV_INDEX": ""} {
		t.Setenv(name, value)
	}
	u := pythonUser{newInstaller(t), t, site}
	u.Own = true
	return u
}

// newInstaller returns the installer of a user with empty directories.
func newInstaller(t *testing.T) *Installer {
	t.Helper()
	host := testkit.Get(hostfs.LocalHost())(t)
	dir := t.TempDir()
	host.Dir, host.CacheDir, host.StateDir = dir, filepath.Join(dir, "cache"), filepath.Join(dir, "state")
	t.Cleanup(func() { // the store is read-only
		exec.Command("chmod", "-R", "u+w", dir).Run()
	})
	return &Installer{Store: store.Store{Dir: filepath.Join(dir, "store")}, LockFile: filepath.Join(dir, "config", store.FileName), Host: host, Waive: waived()}
}

// setenv returns the variables of an environment with some in place of those that are there.
func setenv(environ []string, variables ...string) []string {
	kept := slices.DeleteFunc(slices.Clone(environ), func(there string) bool {
		name, _, _ := strings.Cut(there, "=")
		return slices.ContainsFunc(variables, func(v string) bool { return strings.HasPrefix(v, name+"=") })
	})
	return append(kept, variables...)
}

func (u pythonUser) line(words ...string) *runline.Line {
	u.t.Helper()
	line, err := runline.Parse(words)
	if err != nil {
		u.t.Fatal(err)
	}
	return &line
}

func (u pythonUser) install(words ...string) *Result {
	u.t.Helper()
	r, err := u.Install(u.t.Context(), u.line(words...))
	if err != nil {
		u.t.Fatalf("%q: %v", words, err)
	}
	return r
}

// fails installs a line that cannot be installed, and returns the error. It must say the word.
func (u pythonUser) fails(word string, words ...string) error {
	u.t.Helper()
	_, err := u.Install(u.t.Context(), u.line(words...))
	if err == nil || !strings.Contains(err.Error(), word) {
		u.t.Errorf("%q: %v; want an error with %q", words, err, word)
	}
	return err
}

func (u pythonUser) find(words ...string) (*installed.Program, error) {
	f := installed.Finder{Store: u.Store, LockFile: u.LockFile, Host: &u.Host}
	return f.Find(u.t.Context(), u.line(words...))
}

// talk starts the program of a line in a jail without a network, sends it messages, and returns
// the texts or results that it answers.
func (u pythonUser) talk(words []string, messages ...string) (answers []string) {
	u.t.Helper()
	program, err := u.find(words...)
	if err != nil {
		u.t.Fatal(err)
	}
	defer program.Close()
	if err := program.Check(u.t.Context()); err != nil {
		u.t.Fatal(err)
	}
	p := &policy.Policy{
		Server: "talk", Command: program.Command, Arguments: program.Arguments, Stateful: true, FromCommandLine: true, Roots: "off",
		Startup: policy.DefaultStartup, Limits: policy.DefaultLimits, Net: []policy.NetRule{}, Packages: policy.Packages{Tree: program.Dir},
	}
	profile, _, err := resolve.Resolve(p, u.Host)
	if err != nil {
		u.t.Fatal(err)
	}
	in, toServer, _ := os.Pipe()
	fromServer, out, _ := os.Pipe()
	process, err := confine.Launcher{Waive: waived()}.Start(u.t.Context(), profile, confine.Stdio{In: in, Out: out, Err: os.Stderr})
	in.Close()
	out.Close()
	if err != nil {
		u.t.Fatal(err)
	}
	go func() {
		io.WriteString(toServer, strings.Join(messages, "\n")+"\n")
		toServer.Close()
	}()
	lines := bufio.NewScanner(fromServer)
	for lines.Scan() {
		var m struct {
			Result struct {
				Content []struct{ Text string }
			}
		}
		if err := json.Unmarshal(lines.Bytes(), &m); err == nil && len(m.Result.Content) == 1 {
			answers = append(answers, m.Result.Content[0].Text)
		}
	}
	if exit, err := process.Wait(); err != nil || exit.Code != 0 {
		u.t.Errorf("the server ended with %+v, %v", exit, err)
	}
	return answers
}

const about = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"about","arguments":{}}}`

func serverWheel(name string, requires ...string) registry.Wheel {
	w := registry.MCPServer{Name: name}.Wheel()
	w.Requires = requires
	return w
}

var needed = registry.Wheel{Name: "Needed_One", Version: "1.5", Files: map[string]string{"needed_one.py": "x = 1\n"}}

// TestPythonInstall: uvx's line is installed once, and then runs without a network and without
// an installer.
func TestPythonInstall(t *testing.T) {
	u := newPythonUser(t, serverWheel("fixture-server", "needed-one>=1"), needed)
	words := []string{"uvx", "fixture-server", "--an", "argument"}
	r := u.install(words...)
	if e := r.Entry; !r.Fetched || e.Name != "fixture-server" || e.Version != "1.0.0" || e.File != "bin/fixture-server" || e.Program != "fixture-server" || !python.IsHash(e.Integrity) {
		t.Errorf("entry: %+v", e)
	}
	var names []string
	for _, p := range r.Entry.Packages {
		names = append(names, p.Name+" "+p.Version)
		if !slices.ContainsFunc(p.Hashes, python.IsHash) || r.Entry.ScriptsRan {
			t.Errorf("package: %+v", p)
		}
	}
	if !slices.Equal(names, []string{"fixture-server 1.0.0", "needed-one 1.5"}) || r.Refused != nil {
		t.Errorf("packages %q, refused %v", names, r.Refused)
	}
	u.site.Forget()
	got := u.talk(words, about)
	if len(got) != 1 || !strings.Contains(got[0], `"args": ["--an", "argument"]`) || !strings.Contains(got[0], "/tree/site/fixture_server/__init__.py") {
		t.Errorf("the server says %q", got)
	}
	if r := u.install(words...); r.Fetched || len(u.site.Requests()) > 0 {
		t.Errorf("the second installation: %v, %v", r.Fetched, u.site.Requests())
	}
	u.sharesWithChildren(words)
	u.refusesChanged(words)
}

// sharesWithChildren: a program that the server starts with its own interpreter has the
// packages of the tree, and one on another interpreter has not.
func (u pythonUser) sharesWithChildren(words []string) {
	u.t.Helper()
	program, err := u.find(words...)
	if err != nil {
		u.t.Fatal(err)
	}
	defer program.Close()
	for own, want := range map[string]bool{program.Command: true, "/another/python": false} {
		c := exec.Command(program.Command, "-B", "-c", "import needed_one")
		c.Env = []string{"PYTHONPATH=" + filepath.Join(program.Dir, "children"), "MCP_JAIL_PYTHON=" + own}
		if out, err := c.CombinedOutput(); (err == nil) != want {
			u.t.Errorf("a child with %s: %v\n%s", own, err, out)
		}
	}
}

// refusesChanged changes a file of the tree. The next start refuses it.
func (u pythonUser) refusesChanged(words []string) {
	u.t.Helper()
	program, err := u.find(words...)
	if err != nil {
		u.t.Fatal(err)
	}
	file := filepath.Join(program.Dir, "site", "fixture_server", "__init__.py")
	program.Close()
	if err := errors.Join(os.Chmod(file, 0o644), os.WriteFile(file, []byte("print()\n"), 0o644)); err != nil {
		u.t.Fatal(err)
	}
	if program, err = u.find(words...); err != nil {
		u.t.Fatal(err)
	}
	defer program.Close()
	var changed *store.ChangedError
	if err := program.Check(u.t.Context()); !errors.As(err, &changed) || !slices.Equal(changed.Changed, []string{"site/fixture_server/__init__.py"}) {
		u.t.Errorf("check: %v", err)
	}
}

// TestPythonPinned: a pinned version is installed again from the same files, or not at all.
func TestPythonPinned(t *testing.T) {
	w := serverWheel("fixture-server", "needed-one>=1")
	u := newPythonUser(t, w, needed)
	before := u.install("uvx", "fixture-server").Entry
	remove := func() {
		trees, err := u.Store.Trees()
		if err != nil || len(trees) != 1 {
			t.Fatal(trees, err)
		}
		testkit.Must(t, u.Store.Remove(trees[0]))
	}
	newer, newerNeeded := w, needed
	newer.Version, newerNeeded.Version = "1.1.0", "1.6"
	u.site.Upload(newer, newerNeeded)
	remove()
	if after := u.install("uvx", "fixture-server").Entry; after.Tree != before.Tree || after.Files != before.Files || !after.Pinned.Equal(before.Pinned) {
		t.Errorf("installed again: %+v, before: %+v", after, before)
	}
	remove()
	changed := needed
	changed.Files = map[string]string{"needed_one.py": "x = 2\n"}
	u.site.Upload(changed)
	u.fails("Nothing was installed", "uvx", "fixture-server")
	testkit.Is(t, "after the refusal", testkit.ErrorOf(u.find("uvx", "fixture-server")), installed.ErrNotInstalled)
}

// pythonRows returns the first row of TestPythonLines in its short form.
func pythonRows() int {
	if testkit.Long() {
		return 0
	}
	return 2
}

// TestPythonLines: what the words of a line choose.
func TestPythonLines(t *testing.T) {
	testkit.NeedsLong(t)
	old, extra := serverWheel("fixture-server"), serverWheel("other")
	old.Version = "0.9.0"
	extra.Scripts = map[string]string{"second": "other:main"}
	now := serverWheel("fixture-server", "needed-one; extra == 'more'")
	u := newPythonUser(t, old, now, extra, needed)
	for _, c := range []struct {
		words    []string
		version  string
		program  string
		packages int
	}{
		{[]string{"uvx", "fixture-server@0.9.0"}, "0.9.0", "fixture-server", 1},
		{[]string{"uvx", "--from", "fixture-server<1", "fixture-server"}, "0.9.0", "fixture-server", 1},
		{[]string{"uvx", "--from", "fixture-server[more]", "--with", "needed-one", "fixture-server"}, "1.0.0", "fixture-server", 2},
		{[]string{"uvx", "--from", "other", "second"}, "1.0.0", "second", 1},
		{[]string{"uv", "tool", "run", "--with", "other", "fixture-server@latest"}, "1.0.0", "fixture-server", 2},
	}[pythonRows():] {
		e := u.install(c.words...).Entry
		if e.Version != c.version || e.Program != c.program || len(e.Packages) != c.packages {
			t.Errorf("%q: %s %s, %+v", c.words, e.Version, e.Program, e.Packages)
		}
	}
	testkit.Equal(t, "second", len(u.talk([]string{"uvx", "--from", "other", "second"}, about)), 1)
	if _, err := u.find("uvx", "other"); err == nil || !strings.Contains(err.Error(), "other has no program other; it has second. Name one: uvx --from other second") {
		t.Errorf("uvx other: %v", err)
	}
}
