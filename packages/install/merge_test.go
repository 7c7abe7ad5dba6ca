package install

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/packages/installed"
	"github.com/mcp-jail/mcp-jail/packages/store"
	"github.com/mcp-jail/mcp-jail/packages/toolpin"
)

// listed returns the pin of a server with one tool.
func listed(t *testing.T, tool string) *toolpin.Pin {
	t.Helper()
	p, err := toolpin.New(toolpin.Server{}, []byte(`{"tools":[{"name":"`+tool+`","inputSchema":{"type":"object"}}]}`))
	testkit.Must(t, err)
	return p
}

// TestPinRefusesChanges tests what is in the lock file after an installation during which a session has changed the
// pinned tools, and the user the note. Pins are written as the names of their tools; "" is none.
func TestPinRefusesChanges(t *testing.T) {
	for name, c := range map[string]struct{ before, meanwhile, own, want string }{
		"a session pins meanwhile":          {"", "a", "", "a"},
		"the user removes meanwhile":        {"a", "", "a", ""},
		"the user accepts others meanwhile": {"a", "b", "a", "b"},
		"nothing changes":                   {"a", "a", "a", "a"},
		"an update has other tools":         {"a", "a", "b", "b"},
		"an update drops tools":             {"a", "a", "", ""},
	} {
		entry := func(tool, note string) *store.Entry {
			e := &store.Entry{
				Key: store.Key{Ecosystem: store.NPM, Spec: "a@latest"}, Name: "a", Version: "1.0.0", Pinned: time.Unix(1e9, 0).UTC(),
				Tree: "sha256:1", Files: "sha256:2", Note: note,
			}
			if tool != "" {
				e.Pins = map[string]*toolpin.Pin{"default": listed(t, tool)}
			}
			return e
		}
		i := &Installer{LockFile: filepath.Join(t.TempDir(), store.FileName)}
		testkit.Must(t, i.pin(nil, entry(c.meanwhile, "mine")))
		own := entry(c.own, "")
		if err := i.pin(entry(c.before, ""), own); (err == nil) != (c.before == c.meanwhile) {
			t.Errorf("%s: %v", name, err)
		}
		now, got := testkit.Get(store.Find(i.LockFile, own.Key))(t), ""
		if p := now.Pins["default"]; p != nil {
			got = p.Tools[0].Name
		}
		if got != c.want || now.Note != "mine" || len(now.Pins) > 1 {
			t.Errorf("%s: the file has %q and the note %q, want %q", name, got, now.Note, c.want)
		}
	}
}

// TestPinOfProjects: what is installed for a line of the user's own takes the place of what projects have for it.
func TestPinOfProjects(t *testing.T) {
	i := &Installer{LockFile: filepath.Join(t.TempDir(), store.FileName)}
	for _, spec := range []string{"a@latest" + installed.OfProject + "/p", "a@latest", "ab@latest" + installed.OfProject + "/p"} {
		i.Own = spec == "a@latest"
		e := &store.Entry{Key: store.Key{Ecosystem: store.NPM, Spec: spec}, Name: "a", Version: "1.0.0", Pinned: time.Unix(1e9, 0).UTC()}
		testkit.Must(t, i.pin(nil, e))
	}
	var left []string
	for _, e := range testkit.Get(store.Load(i.LockFile))(t).Entries() {
		left = append(left, e.Spec)
	}
	testkit.Equal(t, "the pins", left, []string{"a@latest", "ab@latest" + installed.OfProject + "/p"})
}
