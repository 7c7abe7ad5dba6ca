package records

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/private"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// TestRename: the directory of a name moves to the id of its command line, unless a session has it or the id has a
// directory already. That of another line stays.
func TestRename(t *testing.T) {
	const id = "s-4k7q2m9x3vt5"
	words := []string{"npx", "notes"}
	for name, c := range map[string]struct {
		about  string
		before func(host hostfs.Host) error
		words  []string
		moved  bool
		err    string
	}{
		"its own":            {`{"command": ["npx", "notes"]}`, nil, words, true, ""},
		"another's":          {`{"command": ["npx", "other"]}`, nil, words, false, ""},
		"of a configuration": {`{"command": ["npx", "notes"], "configuration": {"configured": true}}`, nil, words, false, ""},
		"of no line":         {"", nil, words, false, ""},
		"a former id":        {"", nil, nil, true, ""},
		"the id has a HOME":  {`{"command": ["npx", "notes"]}`, func(host hostfs.Host) error { return os.MkdirAll(Path(host, id), 0o700) }, words, false, "has a private HOME already"},
	} {
		host := hostfs.Host{StateDir: filepath.Join(t.TempDir(), "state")}
		d, err := private.Make(host.StateDir, filepath.Join(ServersDir, "s"))
		if err == nil && c.about != "" {
			err = d.Replace(aboutFile, []byte(c.about), private.How{})
		}
		if err == nil && c.before != nil {
			err = c.before(host)
		}
		testkit.Must(t, err)
		d.Close()
		err = Rename(host, "s", id, c.words)
		if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Lstat(Path(host, "s")); (err != nil) != c.moved {
			t.Errorf("%s: moved: %t", name, err != nil)
		}
	}
	if err := Rename(hostfs.Host{StateDir: filepath.Join(t.TempDir(), "state")}, "none", id, words); err != nil {
		t.Error(err)
	}
}
