package install

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/internal/testkit/registry"
	"github.com/mcp-jail/mcp-jail/packages/installed"
)

// TestOwn: what was fetched for a project's line is pinned neither for the user's own line nor for another
// project's: the variables of that line's entry may have chosen npm, a proxy or the version. What was fetched for
// the user's own line is pinned for all.
func TestOwn(t *testing.T) {
	t.Parallel()
	site := registry.Start(t, registry.Stock{Packages: []registry.Package{plain("1.0.0"), server("1.0.0")}})
	u := newUser(t, site.URL)
	mine, theirs, others := u.installer(), u.installer(), u.installer()
	theirs.Own, others.Own, others.Host.Dir = false, false, filepath.Join(u.dir, "another")
	ctx, cancel := contextOf()
	defer cancel()
	for _, i := range []*Installer{theirs, others, mine} { // what one has left in its stage, the other does not find
		stage := testkit.Get(i.stage(ctx, line(t, "@scope/server")))(t)
		file := filepath.Join(stage.Dir, "left")
		testkit.Fails(t, "a stage is shared", testkit.ErrorOf(os.Lstat(file)), "")
		testkit.WriteFile(t, file, "")
		stage.Close()
	}
	for _, c := range []struct {
		name    string
		i       *Installer
		fetches bool
	}{
		{"the project's line", theirs, true},
		{"the project's line again", theirs, false},
		{"another project's line", others, true},
		{"another project's line again", others, false},
		{"the user's own line", mine, true},
		{"the user's own line again", mine, false},
		{"the project's line after that", theirs, false},
	} {
		find := installed.Finder{Store: c.i.Store, LockFile: c.i.LockFile, Host: &c.i.Host, Own: c.i.Own}
		if has := find.Has(line(t, "@scope/server")); has == c.fetches {
			t.Errorf("%s: it is there: %v", c.name, has)
		}
		if r := u.installs(c.i, "@scope/server"); r.Fetched != c.fetches {
			t.Errorf("%s: %+v", c.name, r)
		}
	}
}
