package leak

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// randomSecrets returns secrets of different lengths, some with characters that are escaped.
func randomSecrets(n int) (all []Secret) {
	random := rand.New(rand.NewPCG(1, 2))
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	for i := range n {
		from := letters
		if i%3 == 2 {
			from += `/+=-_.~"\<>&%$ `
		}
		value := make([]byte, 12+i*2)
		for k := range value {
			value[k] = from[random.IntN(len(from))]
		}
		all = append(all, Secret{fmt.Sprint("SECRET_", i), string(value)})
	}
	return all
}

// TestCorpus is the control of the search: nothing is found in the files of this repository and of the
// installed servers, as text in a message and in base64, with twenty secrets and the patterns. Files that
// are there to test or to document tokens are left out. make test takes a part of the rest.
func TestCorpus(t *testing.T) {
	f := New(randomSecrets(20), true)
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
			escaped, err := json.Marshal(string(text))
			testkit.Must(t, err)
			for form, message := range map[string][]byte{"text": escaped, "base64": []byte(base64.StdEncoding.EncodeToString(text))} {
				if got := f.Find(message); got != nil {
					t.Errorf("%s as %s: %v", name, form, got)
				}
			}
			return nil
		}))
	}
	if n < 500 {
		t.Errorf("only %d files", n)
	}
}
