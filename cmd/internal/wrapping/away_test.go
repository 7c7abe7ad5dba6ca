package wrapping

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestAway: a project's file whose link leads to another machine is refused with that reason, and is not
// read. Where nothing says that it leads there, its servers are found.
func TestAway(t *testing.T) {
	h := newHost(t)
	far := filepath.Join(filepath.Dir(h.Home), "far.json")
	write(t, far, `{"mcpServers": {"a": {"command": "x"}}}`)
	link := filepath.Join(h.Project, ".mcp.json")
	must(t, os.Symlink(far, link))
	for _, sel := range []Selection{{}, {Files: []string{link}}} {
		if f := only(t, h, sel); len(f.Entries) != 1 || f.Err != nil {
			t.Fatalf("without a reason: %v, %v", f.Entries, f.Err)
		}
	}
	away := errors.New("it leads away")
	h.Away = func(_, path string) error {
		if path == link {
			return away
		}
		return nil
	}
	for _, sel := range []Selection{{}, {Files: []string{link}}} {
		files, err := Find(h, sel)
		must(t, err)
		if len(files) != 1 || !errors.Is(files[0].Err, away) || files[0].own != nil || len(files[0].Entries) != 0 || files[0].Path != link || !files[0].IsProject() {
			t.Errorf("%+v", files)
		}
	}
	mine := filepath.Join(h.Home, ".claude.json")
	must(t, os.Symlink(far, mine))
	h.Away = func(_, _ string) error { return away }
	if f := only(t, h, Selection{Files: []string{mine}}); f.Err != nil || len(f.Entries) != 1 {
		t.Errorf("the user's: %v, %v", f.Entries, f.Err)
	}
}
