package leak

import (
	"encoding/base64"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestCorpus is the control of the search: nothing is found in the files of this repository and of the
// installed servers, as text in a message and in base64, with twenty secrets and the patterns. Files that
// are there to test or to document tokens are left out. make test takes a part of the rest.
func TestCorpus(t *testing.T) {
	f := New(secrets(20), true)
	n, every := 0, testkit.Rounds(20, 1)
	for _, dir := range []string{"../..", os.Getenv("MCPJAIL_SERVERS")} {
		if dir == "" {
			continue
		}
		testkit.Must(t, filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() && slices.Contains([]string{".git", "bin", "testdata"}, d.Name()) {
				return filepath.SkipDir
			}
			info, err := d.Info()
			if err != nil || !info.Mode().IsRegular() || info.Size() > 1<<20 || strings.HasSuffix(name, "_test.go") {
				return nil
			}
			if n++; n%every > 0 {
				return nil
			}
			text, err := os.ReadFile(name)
			testkit.Must(t, err)
			for form, message := range map[string][]byte{"text": mustJSON(string(text)), "base64": []byte(base64.StdEncoding.EncodeToString(text))} {
				if got := f.Find(message); got != nil {
					t.Errorf("%s as %s: %v", name, form, got)
				}
			}
			return nil
		}))
	}
	if n < 2000 {
		t.Errorf("only %d files", n)
	}
}
