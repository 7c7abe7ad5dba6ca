package terminal

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// TestProblemsOfTwoFiles tests that the problems of two files are printed in the order of the
// files, and those of a file in the order of its lines. The names of the files, and the lines of
// both together, have another order.
func TestProblemsOfTwoFiles(t *testing.T) {
	dir := t.TempDir()
	first, second := filepath.Join(dir, "z.toml"), filepath.Join(dir, "a.toml")
	testkit.WriteFile(t, first, "version = 1\n[servers.s]\ncommand = 3\n\n\nodd = 6\n")
	testkit.WriteFile(t, second, "odd = 1\nversion = 1\n[servers.s]\ncommand = 4\n")
	_, err := config.Load(config.LoadOptions{Files: []string{first, second}})
	out, failed := os.Create(filepath.Join(dir, "out"))
	if failed != nil {
		t.Fatal(failed)
	}
	defer out.Close()
	if status := Report(New(nil, nil, out), err); status != Usage {
		t.Errorf("the status is %d", status)
	}
	want := []string{policy.Position(first, 3), policy.Position(first, 6), policy.Position(second, 1), policy.Position(second, 4)}
	printed, failed := os.ReadFile(out.Name())
	if failed != nil {
		t.Fatal(failed)
	}
	text, at := string(printed), 0
	for _, place := range want {
		i := strings.Index(text[at:], place+": ")
		if i < 0 {
			t.Fatalf("%s is not where it belongs:\n%s", place, text)
		}
		at += i
	}
	if n := strings.Count(text, "error: "); n != len(want) {
		t.Errorf("there are %d problems:\n%s", n, text)
	}
	if line := OneLine(err); !strings.HasPrefix(line, want[0]+": ") || !strings.HasSuffix(line, " (and 3 more: mcp-jail check)") {
		t.Errorf("in one line: %q", line)
	}
}
