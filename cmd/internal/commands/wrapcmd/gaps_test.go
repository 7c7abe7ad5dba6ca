package wrapcmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/cmd/internal/gaps"
	"github.com/mcp-jail/mcp-jail/cmd/internal/wrapping"
	"github.com/mcp-jail/mcp-jail/confine"
)

func TestClosing(t *testing.T) {
	for fix, want := range map[string]string{
		"":                    "",
		confine.FixNamespaces: "",
		"mount /proc":         "mount /proc",
		`remove these keys, or accept the whole network for this server with waive = ["net"] (--waive net)`: "remove these keys",
		`allow pidfd_getfd, or remove the net rules, or accept it with waive = ["net"] (--waive net)`:       "allow pidfd_getfd, or remove the net rules",
	} {
		if got := closing(confine.Gap{Fix: fix}); got != want {
			t.Errorf("%q: %q", fix, got)
		}
	}
}

// TestRecordShown: the user accepts the text that wrap showed, and not one that was written meanwhile.
func TestRecordShown(t *testing.T) {
	const shown = `{"mcpServers": {"one": {"command": "mcp-jail", "args": ["run", "--waive", "fs", "--", "cat"]}}}`
	for name, now := range map[string]string{"as it was shown": shown, "another program": strings.Replace(shown, "cat", "sh", 1)} {
		home := t.TempDir()
		t.Setenv("HOME", home)
		t.Setenv("XDG_STATE_HOME", "")
		w := &wrapCmd{}
		w.Files = []string{filepath.Join(home, "project", ".mcp.json")}
		if err := os.MkdirAll(filepath.Dir(w.Files[0]), 0o755); err != nil {
			t.Fatal(err)
		}
		write := func(text string) {
			if err := os.WriteFile(w.Files[0], []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		write(shown)
		_, files, err := w.Find()
		if err != nil || len(files) != 1 || !files[0].IsProject() {
			t.Fatal(files, err)
		}
		open := openGaps{ofProjects: []projectEntry{{files[0].Real(), files[0].Entries[0].Key()}}}
		write(now)
		err = open.record(w, []*wrapping.Change{{File: files[0], After: []byte(shown)}})
		if (err == nil) != (now == shown) {
			t.Errorf("%s: %v", name, err)
		}
		host, files, _ := w.Find()
		gaps.UseAccepted(host.StateDir, files)
		if got := files[0].Accepted[files[0].Entries[0].Key()]; got != (now == shown) {
			t.Errorf("%s: accepted %t", name, got)
		}
	}
}
