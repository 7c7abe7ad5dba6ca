package install

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/internal/testkit/registry"
)

// TestArchiveNames installs servers whose archives name files outside of their packages. npm puts these into the
// package, or leaves them out. Nothing is written elsewhere.
func TestArchiveNames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, file string }{
		{"two dots", "package/../../../../../../../evil.js"},
		{"two dots in the middle", "package/lib/../../evil.js"},
		{"absolute", "/var/tmp/evil.js"},
		{"below a link", "package/link/evil.js"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p, site := server("1.0.0"), registry.Start(t, registry.Stock{})
			u := newUser(t, site.URL)
			p.Dependencies = nil
			p.Entries = []registry.Entry{{Name: "package/link", Link: u.dir}, {Name: c.file, Body: "evil"}}
			site.Publish(p)
			u.installs(u.installer(), "@scope/server")
			u.runs(u.installer(), "@scope/server", "1.0.0")
			err := filepath.WalkDir(u.dir, func(name string, d fs.DirEntry, err error) error {
				if inside := strings.Contains(name, "/node_modules/@scope/server/"); d != nil && d.Name() == "evil.js" && !inside {
					return errors.New("the archive wrote " + name)
				}
				return err
			})
			testkit.Works(t, "", err)
		})
	}
}
