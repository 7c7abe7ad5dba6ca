package install

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/internal/testkit/registry"
	"github.com/mcp-jail/mcp-jail/packages/installed"
	"github.com/mcp-jail/mcp-jail/packages/store"
)

func contextOf() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), testkit.Patience)
}

// server is a server with a dependency.
func server(version string) registry.Package {
	return registry.MCPServer{Name: "@scope/server", Version: version, Dependencies: map[string]string{"plain": "^1.0.0"}}.Package()
}

func plain(version string) registry.Package {
	return registry.Package{Name: "plain", Version: version, Files: map[string]string{"index.js": "module.exports = '" + version + "'\n"}}
}

// weak is a package of which the registry names the SHA-1 alone.
func weak() registry.Package {
	p := plain("1.0.0")
	p.Dist = map[string]any{"integrity": nil}
	return p
}

// fromGit is a package that needs one from git.
func fromGit() registry.Package {
	p := plain("1.0.0")
	p.Dependencies = map[string]string{"other": "git+http://127.0.0.1:1/other.git"}
	return p
}

const token = "npm_s3cr3tt0ken0123456789"

// TestInstall installs from a registry that demands a token. The second installation
// sends no request, and no file holds the token.
func TestInstall(t *testing.T) {
	t.Parallel()
	site := registry.Start(t, registry.Stock{Packages: []registry.Package{plain("1.0.0"), server("1.0.0")}, Token: token})
	u := newUser(t, site.URL)
	host := strings.TrimPrefix(site.URL, "http:")
	testkit.WriteFile(t, filepath.Join(u.host.Home, ".npmrc"), host+"/:_authToken = ${REGISTRY_TOKEN}\nnot-for-the-jail=1\n")
	u.host.Environ = append(u.host.Environ, "REGISTRY_TOKEN="+token)
	i := u.installer()
	var mu sync.Mutex
	var steps []step
	i.Progress = func(p Progress) { mu.Lock(); defer mu.Unlock(); steps = append(steps, p.Step) }
	r := u.installs(i, "@scope/server")
	list := testkit.Get(r.Entry.List())(t)
	if e := r.Entry; !r.Fetched || e.Name != "@scope/server" || e.Version != "1.0.0" || len(list) != 2 || !strings.HasPrefix(e.Integrity, "sha512-") || r.Refused != nil {
		t.Errorf("%+v %v", r.Entry, r.Refused)
	}
	if !slices.Contains(steps, fetching) || !slices.Contains(steps, sealing) {
		t.Errorf("the steps are %q", steps)
	}
	u.runs(i, "@scope/server", "1.0.0")
	asked := site.Requests()
	if len(asked) == 0 || asked[0].Header.Get("Authorization") != "Bearer "+token {
		t.Errorf("npm did not log in: %+v", asked)
	}
	site.Forget()
	if r := u.installs(i, "@scope/server"); r.Fetched {
		t.Error("it was fetched again")
	}
	testkit.Empty(t, "the second installation asked for", site.Requests())
	for _, dir := range []string{"data", "config", "state", "cache"} {
		testkit.Equal(t, "the token is in", has(t, filepath.Join(u.dir, dir), token), "")
	}
	if strings.Contains(u.told.String(), token) {
		t.Errorf("the token was printed: %s", u.told)
	}
	if left, _ := filepath.Glob(filepath.Join(i.Store.Dir, "staging", "*")); left != nil {
		t.Errorf("%q is left", left)
	}
}

// TestInstallRefused tests failures of the registry: each error says what to do, and nothing is
// installed. make test-long has two more that differ only in npm's code.
func TestInstallRefused(t *testing.T) {
	t.Parallel()
	other := registry.Start(t, registry.Stock{Packages: []registry.Package{plain("1.0.0")}})
	for _, c := range []struct {
		name  string
		spec  string
		stock registry.Stock
		words []string
	}{
		{"no such package", "missing", registry.Stock{}, []string{"the registry has no package \"missing\"", "Check the spelling", "E404"}},
		{"no such version", "plain@9", registry.Stock{Packages: []registry.Package{plain("1.0.0")}}, []string{"no such version", "ETARGET"}},
		{"no token", "plain", registry.Stock{Packages: []registry.Package{plain("1.0.0")}, Token: "x"}, []string{"npm login", "E401"}},
		{"other content", "plain", registry.Stock{Packages: []registry.Package{plain("1.0.0")}, Faults: []registry.Fault{{Path: "*.tgz", After: 40, Corrupt: true}}}, []string{"is not the one that its metadata names", "EINTEGRITY"}},
		{"redirect", "plain", registry.Stock{Packages: []registry.Package{plain("1.0.0")}, Faults: []registry.Fault{{Path: "*.tgz", Redirect: other.URL}}}, []string{strings.TrimPrefix(other.URL, "http://"), "npm config set @packages-from:registry"}},
		{"a weak sum", "plain", registry.Stock{Packages: []registry.Package{weak()}}, []string{"gives no SHA-512 of the archive of plain@1.0.0"}},
		{"git", "plain", registry.Stock{Packages: []registry.Package{fromGit()}}, []string{"is a git repository", "EALLOWGIT"}},
		{"no program", "plain", registry.Stock{Packages: []registry.Package{plain("1.0.0")}}, []string{"plain", "names no program"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			site := registry.Start(t, c.stock)
			u := newUser(t, site.URL)
			i := u.installer()
			u.fails(i, c.spec, c.words...)
			if trees, err := i.Store.Trees(); trees != nil || err != nil {
				t.Errorf("the store has %v, %v", trees, err)
			}
			testkit.Fails(t, "there is a lock file", testkit.ErrorOf(os.Lstat(i.LockFile)), "")
		})
	}
}

// TestInstallRestored: a pinned tree whose files are gone is put back, also where npm install leaves another lock file, or
// more packages, than npm ci takes. No package can fill the lock file.
func TestInstallRestored(t *testing.T) {
	t.Parallel()
	one := server("1.0.0")
	one.Dependencies = map[string]string{"plain": "2.0.0", "peer-host": "1.0.0"}
	one.Optional = map[string]string{"gone": "1.0.0", "plain-again": "^7"}
	host := registry.Package{Name: "peer-host", Version: "1.0.0", Peer: map[string]string{"plain": "1.0.0"}, Manifest: map[string]any{"peerDependenciesMeta": map[string]any{"plain": map[string]any{"optional": true}}, "license": strings.Repeat("x", maxLock)}}
	again := registry.Package{Name: "plain-again", Version: "1.0.0"}
	large := registry.MCPServer{Name: "large", Version: "1.0.0"}.Package()
	large.OS = []string{"!" + strings.Repeat("x", maxLock)}
	site := registry.Start(t, registry.Stock{Packages: []registry.Package{plain("1.0.0"), plain("2.0.0"), host, again, one, large}})
	u := newUser(t, site.URL)
	i := u.installer()
	first := u.installs(i, "@scope/server").Entry
	trees := testkit.Get(i.Store.Trees())(t)
	for _, tree := range trees {
		testkit.Must(t, i.Store.Remove(tree))
	}
	second := u.installs(i, "@scope/server")
	if !second.Fetched || second.Entry.Files != first.Files || strings.Contains(string(first.Lock), "xxx") {
		t.Errorf("%d trees, %+v", len(trees), second)
	}
	u.fails(i, "large", "the lock file takes")
}

// TestInstallOffline: a registry that cannot be reached is told, and the next try succeeds.
func TestInstallOffline(t *testing.T) {
	t.Parallel()
	site := registry.Start(t, registry.Stock{Packages: []registry.Package{plain("1.0.0"), server("1.0.0")}})
	u := newUser(t, "http://registry.invalid")
	u.fails(u.installer(), "@scope/server", "the registry did not answer", "the next try goes on with it")
	u.host.Environ = registry.Environ(site.URL, u.host.Home)
	u.installs(u.installer(), "@scope/server")
}

// TestInstallTooLarge tests both limits with small ones, and the usual limit with a file of 2 GB
// in the long form.
func TestInstallTooLarge(t *testing.T) {
	t.Parallel()
	big := server("1.0.0")
	big.Dependencies = nil
	big.Files["index.js"] = ""
	for _, c := range []struct {
		name   string
		filler int64
		limits limits
		file   bool
	}{
		{"one file", 12 << 20, limits{FileMB: 4}, true},
		{"all together", 48 << 20, limits{TotalMB: 4}, false},
		{"files", 0, limits{Files: 2}, false},
		{"2 GB", 2 << 30, limits{}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.filler > 1<<30 {
				testkit.NeedsLong(t)
			}
			p := big
			p.Filler, p.Dist = c.filler, map[string]any{"integrity": nil, "shasum": nil}
			stock := registry.Stock{Packages: []registry.Package{p}}
			if !c.file {
				stock.Faults = []registry.Fault{{Path: "*.tgz", Rate: 16 << 20}}
			}
			if c.filler == 0 { // the second package keeps the installation waiting
				stock.Packages[0].Dependencies = map[string]string{"plain": "1"}
				stock.Packages, stock.Faults = append(stock.Packages, plain("1.0.0")), []registry.Fault{{Path: "plain-*.tgz", After: 10, Stall: true}}
			}
			u := newUser(t, registry.Start(t, stock).URL)
			i := u.installer()
			i.Limits = c.limits
			var large *tooLargeError
			if err := u.fails(i, "@scope/server", "@scope/server"); !errors.As(err, &large) || large.File != c.file {
				t.Errorf("%v\n%s", err, u.told)
			}
		})
	}
}

// TestInstallInterrupted tests that an installation ends at once when it is cancelled, and that the
// next one fetches only what this one has not fetched.
func TestInstallInterrupted(t *testing.T) {
	t.Parallel()
	site := registry.Start(t, registry.Stock{Packages: []registry.Package{plain("1.0.0"), server("1.0.0")}, Faults: []registry.Fault{{Path: "server-*.tgz", After: 10, Stall: true}}})
	u := newUser(t, site.URL)
	i := u.installer()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		testkit.Eventually(t, "the tarball is asked for", func() bool {
			return slices.ContainsFunc(site.Requests(), func(q registry.Request) bool { return q.Stalled })
		})
		testkit.Eventually(t, "two packuments and the other tarball are kept", func() bool { return kept(i.Store.Dir) == 3 })
		cancel()
	}()
	_, err := i.Install(ctx, line(t, "@scope/server"))
	jailed(t, err)
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "the next try goes on with it") {
		t.Fatalf("%v", err)
	}
	site.Fail()
	site.Forget()
	u.installs(i, "@scope/server")
	var archives []string
	for _, q := range site.Requests() {
		if strings.HasSuffix(q.Path, ".tgz") {
			archives = append(archives, path.Base(q.Path))
		}
	}
	if len(archives) != 1 || archives[0] != "server-1.0.0.tgz" {
		t.Errorf("the next installation asked for %q", archives)
	}
	u.runs(i, "@scope/server", "1.0.0")
}

// kept returns how many answers of the registry are in the stages of a store.
func kept(dir string) (files int) {
	filepath.WalkDir(filepath.Join(dir, "staging"), func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && strings.Contains(name, "/content-v2/") {
			files++
		}
		return nil
	})
	return files
}

// TestInstallTwice tests that two installations at once, and a third under another name of the
// same package, give one tree.
func TestInstallTwice(t *testing.T) {
	t.Parallel()
	site := registry.Start(t, registry.Stock{Packages: []registry.Package{plain("1.0.0"), server("1.0.0")}})
	u := newUser(t, site.URL)
	var wg sync.WaitGroup
	errs := make([]error, 3)
	for n, spec := range []string{"@scope/server", "@scope/server", "@scope/server@^1"} {
		wg.Go(func() { _, errs[n] = u.installer().Install(t.Context(), line(t, spec)) })
	}
	wg.Wait()
	jailed(t, errs[0])
	trees, err := u.installer().Store.Trees()
	if err := errors.Join(append(errs, err)...); err != nil || len(trees) != 1 {
		t.Fatalf("%d trees, %v", len(trees), err)
	}
	u.runs(u.installer(), "@scope/server", "1.0.0")
	u.runs(u.installer(), "@scope/server@^1", "1.0.0")
}

// TestInstallChanged tests that an installation reports files that were changed, and that a
// repair restores them.
func TestInstallChanged(t *testing.T) {
	t.Parallel()
	site := registry.Start(t, registry.Stock{Packages: []registry.Package{plain("1.0.0"), server("1.0.0")}})
	u := newUser(t, site.URL)
	i := u.installer()
	e := u.installs(i, "@scope/server").Entry
	tree := testkit.Get(i.Store.Open(installed.ID(e)))(t)
	tree.Close()
	file := filepath.Join(tree.Dir, "node_modules", "plain", "index.js")
	testkit.Must(t, errors.Join(os.Chmod(file, 0o644), os.WriteFile(file, []byte("evil()"), 0o644)))
	var changed *store.ChangedError
	if err := u.fails(i, "@scope/server", "changed: node_modules/plain/index.js", "mcp-jail install ", "--update"); !errors.As(err, &changed) {
		t.Errorf("%v", err)
	}
	later := []registry.Package{plain("1.1.0"), server("1.1.0")} // are not what was pinned
	for n := range later {
		later[n].Published = time.Now().Add(time.Hour)
	}
	site.Publish(later...)
	r, err := i.Repair(t.Context(), line(t, "@scope/server"))
	if err != nil || r.Entry.Version != "1.0.0" || r.Entry.Files != e.Files {
		t.Fatalf("%+v, %v", r, err)
	}
	u.runs(i, "@scope/server", "1.0.0")
}
