package records

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/private"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// TestRename: what is kept under a name goes to the id of the command line that owns it, unless a session has
// it or the id has something already. What another one owns stays.
func TestRename(t *testing.T) {
	const id = "s-4k7q2m9x3vt5"
	of := func(dir string) string { return "p" + dir }
	for name, c := range map[string]struct {
		owner   string
		before  func(host hostfs.Host) error
		program func(string) string
		moved   bool
		err     string
	}{
		"its own":            {`{"program": "p"}`, nil, of, true, ""},
		"of its directory":   {`{"program": "p/d", "dir": "/d"}`, nil, of, true, ""},
		"another's":          {`{"program": "q"}`, nil, of, false, ""},
		"of a configuration": {`{"program": "p", "configured": true}`, nil, of, false, ""},
		"of nobody":          {"", nil, of, false, ""},
		"a former id":        {"", nil, nil, true, ""},
		"the id has a HOME":  {`{"program": "p"}`, func(host hostfs.Host) error { return os.MkdirAll(Path(host, id), 0o700) }, of, false, "something is kept"},
	} {
		host := hostfs.Host{StateDir: filepath.Join(t.TempDir(), "state")}
		d, err := private.Make(host.StateDir, filepath.Join(ServersDir, "s"))
		if err == nil && c.owner != "" {
			err = d.Replace(ownerFile, []byte(c.owner), private.How{})
		}
		if err == nil && c.before != nil {
			err = c.before(host)
		}
		if err != nil {
			t.Fatal(err)
		}
		d.Close()
		err = Rename(host, "s", id, c.program)
		if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Lstat(Path(host, "s")); (err != nil) != c.moved {
			t.Errorf("%s: moved: %t", name, err != nil)
		}
	}
	if err := Rename(hostfs.Host{StateDir: filepath.Join(t.TempDir(), "state")}, "none", id, of); err != nil {
		t.Error(err)
	}
}
