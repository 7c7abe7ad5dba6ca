package install

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/internal/testkit/registry"
	"github.com/mcp-jail/mcp-jail/packages/installed"
	"github.com/mcp-jail/mcp-jail/packages/store"
)

// TestUpdate updates to a version with a new dependency and a script.
// Nothing changes before the update is accepted.
func TestUpdate(t *testing.T) {
	t.Parallel()
	site := registry.Start(t, registry.Stock{Packages: []registry.Package{plain("1.0.0"), server("1.0.0")}})
	u := newUser(t, site.URL)
	i := u.installer()
	u.installs(i, "@scope/server@latest")
	site.Forget()
	same, err := i.Update(t.Context(), line(t, "@scope/server@latest"))
	if err != nil || same.Changes() != nil {
		t.Fatalf("the same version: %+v, %v", same, err)
	}
	testkit.Works(t, "", errors.Join(same.Close(), same.Close()))
	for _, q := range site.Requests() {
		if strings.HasSuffix(q.Path, ".tgz") {
			t.Errorf("%s was downloaded, and nothing is newer", q.Path)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(i.Store.Dir, "staging", "*")); left != nil {
		t.Errorf("%q is left", left)
	}

	second := registry.MCPServer{Name: "@scope/server", Version: "2.0.0", Dependencies: map[string]string{"plain": "^1.0.0", "newcomer": "1"}, OnInstall: &registry.Attack{}}.Package()
	site.Publish(second, registry.Package{Name: "newcomer", Version: "1.0.0", Files: map[string]string{"index.js": ""}})
	before := testkit.Get(os.ReadFile(i.LockFile))(t)
	for _, accept := range []bool{false, true} {
		update, err := i.Update(t.Context(), line(t, "@scope/server@latest"))
		if err != nil {
			t.Fatalf("accepted %t: %v\n%s", accept, err, u.told)
		}
		testkit.Equal(t, "the lock file has changed before", string(testkit.Get(os.ReadFile(i.LockFile))(t)), string(before))
		testkit.Equal(t, "before, the store", len(testkit.Get(i.Store.Trees())(t)), 1)
		u.runs(i, "@scope/server", "1.0.0")
		if about, err := starts(update.Store, update.LockFile, i.Host, line(t, "@scope/server@latest")); err != nil || about["version"] != "2.0.0" {
			t.Errorf("accepted %t: a trial: %v, %v", accept, about, err)
		}
		if !accept {
			testkit.Works(t, "", update.Close())
			continue
		}
		checkUpdate(t, update)
		testkit.Must(t, errors.Join(i.Accept(t.Context(), update), update.Close()))
	}
	u.runs(i, "@scope/server", "2.0.0")
	if trees, err := i.Store.Trees(); err != nil || len(trees) != 2 {
		t.Errorf("after, the store has %v, %v: the old version is kept until it is removed", trees, err)
	}
}

// checkUpdate checks what an update says about the second version.
func checkUpdate(t *testing.T, update *Update) {
	t.Helper()
	want := []string{"@scope/server: 1.0.0 → 2.0.0", "install scripts of @scope/server 2.0.0: no → yes", "newcomer: (none) → 1.0.0"}
	testkit.Equal(t, "the changes", update.Changes(), want)
	if want = []string{"@scope/server@2.0.0"}; !slices.Equal(update.Scripts, want) {
		t.Errorf("scripts %q", update.Scripts)
	}
}

// TestUpdateOvertaken tests that an update is refused if another process has pinned something
// meanwhile.
func TestUpdateOvertaken(t *testing.T) {
	t.Parallel()
	site := registry.Start(t, registry.Stock{Packages: []registry.Package{plain("1.0.0"), server("1.0.0")}})
	u := newUser(t, site.URL)
	i := u.installer()
	update, err := i.Update(t.Context(), line(t, "@scope/server"))
	jailed(t, err)
	testkit.Must(t, err)
	defer update.Close()
	if update.Old != nil {
		t.Errorf("%+v was pinned", update.Old)
	}
	other := *update.New
	other.Version, other.Tree = "0.9.0", "sha256:"+strings.Repeat("0", 64)
	testkit.Must(t, i.pin(nil, &other))
	testkit.Fails(t, "", i.Accept(t.Context(), update), "by another process")
}

// TestRepublished tests a version whose content is replaced in the registry: before it was
// pinned npm's cache may notice, and afterwards the pin does.
func TestRepublished(t *testing.T) {
	t.Parallel()
	site := registry.Start(t, registry.Stock{Packages: []registry.Package{plain("1.0.0"), server("1.0.0")}})
	u := newUser(t, site.URL)
	i := u.installer()
	e := u.installs(i, "@scope/server").Entry
	evil := plain("1.0.0")
	evil.Files["index.js"] = "evil()"
	site.Publish(evil)
	makeWritable(i.Store.Dir)
	testkit.Must(t, os.RemoveAll(filepath.Join(i.Store.Dir, "npm")))
	var moved *movedError
	if err := u.fails(i, "@scope/server", "is pinned by", "EINTEGRITY", "Nothing was changed", "--update"); !errors.As(err, &moved) {
		t.Errorf("%v", err)
	}
	testkit.Is(t, "it is in the store", testkit.ErrorOf(i.Store.Open(installed.ID(e))), store.ErrNotInstalled)
}
