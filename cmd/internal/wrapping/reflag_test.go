package wrapping

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/clients/ownfile"
)

// TestAlike: the words that stay are those at both ends, and none counts twice.
func TestAlike(t *testing.T) {
	for _, c := range []struct {
		a, b          string
		before, after int
	}{
		{"", "", 0, 0}, {"xy", "xy", 2, 0}, {"xy", "xay", 1, 1}, {"xx", "xxx", 2, 0}, {"xay", "xy", 1, 1}, {"ab", "cd", 0, 0}, {"abab", "ab", 2, 0}, {"", "x", 0, 0},
	} {
		if before, after := alike(letters(c.a), letters(c.b)); before != c.before || after != c.after {
			t.Errorf("%s and %s: %d, %d", c.a, c.b, before, after)
		}
	}
}

func letters(text string) (all []string) {
	for _, r := range text {
		all = append(all, string(r))
	}
	return all
}

// TestWriteTwice: of two changes that are made of one loaded file, the second one is not written: it would
// take the first one back.
func TestWriteTwice(t *testing.T) {
	home := t.TempDir()
	path := filepath.Join(home, ".claude.json")
	must(t, os.WriteFile(path, []byte(`{"mcpServers": {"a": {"command": "mcp-jail", "args": ["run", "--", "x"]}, "b": {"command": "mcp-jail", "args": ["run", "--", "y"]}}}`), 0o600))
	f := only(t, clients.Host{OS: "linux", Home: home}, Selection{})
	first, second := f.Entries[0].Rewrite([]string{"mcp-jail", "run", "--", "z"}), f.Entries[1].Rewrite([]string{"mcp-jail", "run", "--", "z"})
	_, err := first.Write(filepath.Join(home, "state"), time.Now())
	must(t, err)
	if _, err := second.Write(filepath.Join(home, "state"), time.Now()); !errors.Is(err, ownfile.ErrChanged) {
		t.Errorf("%v, want that the file has changed", err)
	}
	if text, err := os.ReadFile(path); err != nil || !bytes.Equal(text, first.After) {
		t.Errorf("%s, %v: the first change is gone", text, err)
	}
}
