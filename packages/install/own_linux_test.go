package install

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/internal/testkit/registry"
	"github.com/mcp-jail/mcp-jail/packages/installed"
)

// TestOwn: what was fetched for a line that is not the user's own is not pinned for the user's own line: the
// variables of that line's entry may have chosen npm, a proxy or the version. The other way round it is.
func TestOwn(t *testing.T) {
	t.Parallel()
	site := registry.Start(t, registry.Stock{Packages: []registry.Package{plain("1.0.0"), server("1.0.0")}})
	u := newUser(t, site.URL)
	mine, theirs := u.installer(), u.installer()
	theirs.Own = false
	ctx, cancel := contextOf()
	defer cancel()
	for _, i := range []*Installer{theirs, mine} { // what one has left in its stage, the other does not find
		stage, err := i.stage(ctx, line(t, "@scope/server"))
		testkit.Must(t, err)
		file := filepath.Join(stage.Dir, "left")
		if _, err := os.Lstat(file); err == nil {
			t.Error("a stage is shared")
		}
		testkit.WriteFile(t, file, "")
		stage.Close()
	}
	for _, c := range []struct {
		name    string
		i       *Installer
		fetches bool
		project bool
	}{
		{"the project's line", theirs, true, true},
		{"the project's line again", theirs, false, true},
		{"the user's own line", mine, true, false},
		{"the user's own line again", mine, false, false},
		{"the project's line after that", theirs, false, false},
	} {
		find := installed.Finder{Store: c.i.Store, LockFile: c.i.LockFile, Host: &u.host, Own: c.i.Own}
		if has := find.Has(line(t, "@scope/server")); has == c.fetches {
			t.Errorf("%s: it is there: %v", c.name, has)
		}
		if r := u.installs(c.i, "@scope/server"); r.Fetched != c.fetches || r.Before != nil || r.Entry.Project != c.project {
			t.Errorf("%s: %+v", c.name, r)
		}
	}
}
