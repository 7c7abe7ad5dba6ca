package install

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit/registry"
)

// TestArchiveNames installs servers whose archives name files outside of their packages. One
// with ".." is refused; npm puts the others into the package. Nothing is written elsewhere.
func TestArchiveNames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, file string
		refused    bool
	}{
		{"two dots", "package/../../../../../../../evil.js", true},
		{"two dots in the middle", "package/lib/../../evil.js", true},
		{"absolute", "/var/tmp/evil.js", false},
		{"below a link", "package/link/evil.js", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p, site := server("1.0.0"), registry.Start(t, registry.Stock{})
			u := newUser(t, site.URL)
			p.Dependencies = nil
			p.Entries = []registry.Entry{{Name: "package/link", Link: u.dir}, {Name: c.file, Body: "evil"}}
			site.Publish(p)
			if i := u.installer(); c.refused {
				u.fails(i, "@scope/server", "names a file outside of its package", "was not installed")
			} else {
				u.installs(i, "@scope/server")
				u.runs(i, "@scope/server", "1.0.0")
			}
			err := filepath.WalkDir(u.dir, func(name string, d fs.DirEntry, err error) error {
				if inside := strings.Contains(name, "/node_modules/@scope/server/"); d != nil && d.Name() == "evil.js" && !inside {
					return errors.New("the archive wrote " + name)
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}
