package install

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/internal/testkit/registry"
	"github.com/mcp-jail/mcp-jail/packages/installed"
	"github.com/mcp-jail/mcp-jail/packages/store"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestPythonSource: the build of a source distribution runs its code. It does not run without
// leave; with leave it reaches neither the user's files nor a network.
func TestPythonSource(t *testing.T) {
	u := newPythonUser(t)
	secret := filepath.Join(t.TempDir(), "secret")
	testkit.Must(t, os.WriteFile(secret, []byte("s3cret"), 0o600))
	var told strings.Builder
	u.Told = &told
	hook := filepath.Join(filepath.Dir(secret), "hooks", "pre-commit")
	attack := registry.Attack{Read: []string{secret}, Write: []string{hook}, Send: []string{u.site.URL + "/-/loot", "http://thief.example/"}, Report: "/nowhere/attempts"}
	w := registry.MCPServer{Name: "built", OnInstall: &attack}.Wheel()
	w.Requires = []string{"needed-one"}
	u.site.Upload(w, needed)

	u.fails("only a source distribution", "uvx", "built")
	if got := registry.Attempts(told.String()); got != nil {
		t.Errorf("without leave: %+v", got)
	}
	u.Scripts = true
	r := u.install("uvx", "built")
	testkit.Fails(t, "the hook was written", testkit.ErrorOf(os.Stat(hook)), "")
	for _, q := range u.site.Requests() {
		if q.Path == "/-/loot" {
			t.Errorf("the loot arrived: %s", q.Body)
		}
	}
	if !r.Entry.ScriptsRan || len(r.Entry.Packages) != 2 {
		t.Errorf("scripts ran: %v, packages: %+v", r.Entry.ScriptsRan, r.Entry.Packages)
	}
	named := slices.ContainsFunc(r.Refused, func(d refusal) bool {
		return d.Package == "built" && d.Axis == policy.AxisNet && d.Operation == "resolve"
	})
	if got := registry.Attempts(told.String()); !named || len(got) != 4 {
		t.Errorf("the attempts %+v are not named: %+v", got, r.Refused)
	}
	testkit.Equal(t, "the server", len(u.talk([]string{"uvx", "built"}, about)), 1)
}

// TestPythonFileHost: an index that names another host for its files does not have the jail reach it. A
// further index of the user's on that host does.
func TestPythonFileHost(t *testing.T) {
	stock := registry.Stock{Wheels: []registry.Wheel{serverWheel("fixture-server")}}
	files := registry.Start(t, stock)
	u := newPythonUser(t)
	stock.Base = files.URL
	u.site.Load(stock)
	host := strings.Replace(files.URL, "http://127.0.0.1", "localhost", 1)
	err := u.fails("as extra-index-url", "uvx", "fixture-server")
	if got := files.Requests(); len(got) > 0 || !strings.Contains(err.Error(), "the index names "+host+" for its files") {
		t.Errorf("the other host was asked for %+v: %v", got, err)
	}
	u.Host.Environ = setenv(u.Host.Environ, "PIP_EXTRA_INDEX_URL="+files.URL+"/simple")
	u.install("uvx", "fixture-server")
}

// TestPythonFailures: what the user reads when a package is not installed. Nothing of it stays, and the
// next start goes on.
func TestPythonFailures(t *testing.T) {
	private, lies, future := serverWheel("private"), serverWheel("lies"), serverWheel("future")
	private.Token, lies.Digest, future.RequiresPython = "t0ken", strings.Repeat("0", 64), ">=9"
	inner := registry.Start(t, registry.Stock{Wheels: []registry.Wheel{private}})
	u := newPythonUser(t, private, lies, future, serverWheel("fixture-server"))
	other := registry.Start(t, registry.Stock{Wheels: []registry.Wheel{serverWheel("private")}})
	withLogin := "PIP_INDEX_URL=" + strings.Replace(u.site.URL, "://", "://__token__:t0ken@", 1) + "/simple"
	index := strings.TrimPrefix(inner.URL, "http://")
	for _, c := range []struct {
		name, pkg string
		env       []string
		foreign   bool   // the line is not the user's own
		want      string // of the error; "" if it is installed
	}{
		{"a wrong name", "nothing-of-this-name", nil, false, "nothing-of-this-name is not in the index"},
		{"a wrong version", "fixture-server@7", nil, false, "is not in the index, or not in this version"},
		{"another file", "lies", nil, false, "is not the one that the index or the lock file names"},
		{"another Python", "future", nil, false, "has no version for Python"},
		{"no login", "private", nil, false, "refuses access. Nothing was installed. Check its address and its login in the configuration of pip"},
		{"no login, and the name in the next index", "private", []string{"PIP_INDEX_URL=" + inner.URL + "/simple", "PIP_EXTRA_INDEX_URL=" + other.URL + "/simple"}, false, "the index " + index + " refuses access"},
		{"another's line", "private", []string{withLogin}, true, "your logins were not used"},
		{"no network", "fixture-server", []string{"PIP_INDEX_URL=http://127.0.0.1:9/simple"}, false, "the index 127.0.0.1"},
		{"a login, and a keyring", "private", []string{withLogin, "PIP_KEYRING_PROVIDER=subprocess"}, false, ""},
		{"control", "fixture-server", nil, false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var told, notUsed strings.Builder
			i := *u.Installer
			i.Host.Environ, i.Own, i.Told = setenv(i.Host.Environ, c.env...), !c.foreign, &told
			i.Note = func(line string) { notUsed.WriteString(line) }
			_, err := i.Install(t.Context(), u.line("uvx", c.pkg))
			switch text, _ := os.ReadFile(i.LockFile); {
			case c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("%v; want %q\n%s", err, c.want, told.String())
			case strings.Contains(string(text), `"`+c.pkg+`"`) != (c.want == "") || strings.Contains(string(text)+told.String(), "t0ken"):
				t.Errorf("the lock file:\n%s\n%s", text, told.String())
			case strings.Contains(strings.Join(c.env, " "), "KEYRING") != strings.Contains(notUsed.String(), "PIP_KEYRING_PROVIDER"):
				t.Errorf("what is not used: %q", notUsed.String())
			}
			if left, _ := filepath.Glob(filepath.Join(i.Store.Dir, "staging", "s-"+strings.Split(c.pkg, "@")[0]+"-*")); c.name != "no network" && left != nil {
				t.Errorf("%q is left", left)
			}
		})
	}
}

// TestPythonBelieved: nothing is installed by a configuration that a server may write.
func TestPythonBelieved(t *testing.T) {
	u := newPythonUser(t, serverWheel("fixture-server"))
	loose := testkit.ShortDir(t)
	for name, text := range map[string]string{
		"pip.conf": "[global]\ntimeout = 9\n", "uv.toml": "native-tls = true\n",
		"netrc": "machine 127.0.0.1 login a password b\n", "ca.pem": "x",
	} {
		testkit.WriteFile(t, filepath.Join(loose, name), text)
	}
	u.Untrusted = func(file string) string {
		if policy.Within(file, loose) {
			return `the server "a" may write there`
		}
		return ""
	}
	environ := u.Host.Environ
	for name, file := range map[string]string{"PIP_CONFIG_FILE": "pip.conf", "NETRC": "netrc", "UV_CONFIG_FILE": "uv.toml", "PIP_CERT": "ca.pem"} {
		u.Host.Environ = setenv(environ, name+"="+filepath.Join(loose, file))
		u.fails(filepath.Join(loose, file)+` is not used: the server "a" may write there`, "uvx", "fixture-server")
	}
	u.Host.Environ = environ
	u.install("uvx", "fixture-server")
}

// TestPythonVersions: a tree that depends on a version of Python stays pinned when that version is gone. An update
// shows what another version of Python needs.
//
// It is in the short form too: root, who may have more versions of Python, runs no other. Where
// there is one version, test.sh lets it be skipped.
func TestPythonVersions(t *testing.T) {
	u := newPythonUser(t, serverWheel("fixture-server", "needed-one; python_version < '3.12'"), needed)
	words := []string{"uvx", "fixture-server"}
	first := u.install(words...).Entry
	version, ok := strings.CutPrefix(first.Engines, "==")
	if !ok || !strings.HasSuffix(version, ".*") {
		t.Fatalf("engines: %q", first.Engines)
	}
	other := withoutPython(t, u, strings.TrimSuffix(version, ".*"))
	if other == "" {
		t.Skip("this machine has one version of Python with pip")
	}
	var missing *installed.MissingError
	if _, err := u.find(words...); !errors.As(err, &missing) {
		t.Fatalf("without Python %s: %v", version, err)
	}
	u.fails("see what changes: mcp-jail install --update -- uvx fixture-server", words...)
	if pinned := testkit.Get(store.Find(u.LockFile, first.Key))(t); pinned.Engines != first.Engines || pinned.Files != first.Files {
		t.Errorf("pinned anew without a yes: %+v", pinned)
	}
	update := testkit.Get(u.Update(t.Context(), u.line(words...)))(t)
	if changes := strings.Join(update.Changes(), "\n"); !strings.Contains(changes, "versions of the interpreter: ") || !strings.Contains(changes, "needed-one: ") {
		t.Errorf("with %s: %s", other, changes)
	}
	testkit.Must(t, u.Accept(t.Context(), update))
	if got := u.talk(words, about); len(got) != 1 || !strings.Contains(got[0], other) {
		t.Errorf("the server says %q; want Python %s", got, other)
	}
}

// withoutPython leaves the user one Python of another version, and returns that version. It
// returns "" if there is none with pip.
func withoutPython(t *testing.T, u pythonUser, minor string) string {
	t.Helper()
	found := testkit.Get(installed.Interpreters(t.Context(), &u.Host, nil, nil, installed.Python))(t)
	for _, i := range found.Interpreters {
		if !strings.HasPrefix(i.Version, "3.") || strings.HasPrefix(i.Version, minor+".") || exec.Command(i.Path, "-I", "-m", "pip", "--version").Run() != nil {
			continue
		}
		dir := t.TempDir()
		testkit.Must(t, os.Symlink(i.Path, filepath.Join(dir, "python3")))
		u.Host.Environ = append(slices.Clone(u.Host.Environ), "PATH="+dir, "PYENV_ROOT=/none", "ASDF_DATA_DIR=/none", "MISE_DATA_DIR=/none", "UV_PYTHON_INSTALL_DIR=/none")
		return i.Version
	}
	return ""
}

// TestPythonUpdate: an update installs the newest version beside the pinned one.
func TestPythonUpdate(t *testing.T) {
	u := newPythonUser(t, serverWheel("fixture-server"))
	words := []string{"uvx", "fixture-server"}
	u.install(words...)
	u.site.Forget()
	same := testkit.Get(u.Update(t.Context(), u.line(words...)))(t)
	if changes := same.Changes(); len(changes) > 0 || same.New != same.Old {
		t.Errorf("nothing is newer: %q", changes)
	}
	python := testkit.Get(testkit.Get(installed.Interpreters(t.Context(), &u.Host, nil, nil, installed.Python))(t).Choose("", nil))(t)
	var major, minor int
	out := testkit.Get(exec.Command(python.Path, "-I", "-m", "pip", "--version").Output())(t)
	fmt.Sscanf(string(out), "pip %d.%d", &major, &minor)
	for _, q := range u.site.Requests() {
		if hasMetadata := major > 23 || major == 23 && minor >= 2; hasMetadata && strings.HasSuffix(q.Path, ".whl") {
			t.Errorf("nothing is newer, and pip %d.%d downloads %s", major, minor, q.Path)
		}
	}
	testkit.Must(t, same.Close())
	newer := serverWheel("fixture-server", "needed-one")
	newer.Version = "1.1.0"
	u.site.Upload(newer, needed)
	update := testkit.Get(u.Update(t.Context(), u.line(words...)))(t)
	changes := update.Changes()
	if len(changes) < 2 || changes[0] != "fixture-server: 1.0.0 → 1.1.0" {
		t.Errorf("changes: %+v", changes)
	}
	testkit.Must(t, u.Accept(t.Context(), update))
	program, err := u.find(words...)
	if err != nil || program.Entry.Version != "1.1.0" || program.Check(t.Context()) != nil {
		t.Fatalf("after the update: %+v, %v", program, err)
	}
	program.Close()
}
