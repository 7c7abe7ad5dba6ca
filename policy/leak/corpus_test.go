package leak

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
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

// TestCorpus is the control of the search: nothing is found in the files of this repository, as text in a
// message and in base64, with twenty secrets and the patterns. Files that are there to test or to document
// tokens are left out. make test takes a part of the rest.
func TestCorpus(t *testing.T) {
	f := New(randomSecrets(20), true)
	n, every := 0, testkit.Rounds(20, 1)
	testkit.Must(t, filepath.WalkDir("../..", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && slices.Contains([]string{".git", "bin", "testdata"}, d.Name()) {
			return filepath.SkipDir
		}
		info, err := d.Info()
		if err != nil || !info.Mode().IsRegular() || info.Size() > 1<<20 || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		if n++; n%every == 0 {
			findsNothing(t, f, name, testkit.ReadFile(t, name))
		}
		return nil
	}))
	if n < 500 {
		t.Errorf("only %d files", n)
	}
}

// TestCorpusOfRandom is the same with what packages have and this repository lacks: long lines of letters and
// digits, such as checksums, source maps, identifiers and code without blanks.
func TestCorpusOfRandom(t *testing.T) {
	f := New(randomSecrets(20), true)
	random := rand.NewChaCha8([32]byte{1})
	for n := range testkit.Rounds(20, 1000) {
		bytes := make([]byte, 4096)
		random.Read(bytes)
		code := base64.StdEncoding.EncodeToString(bytes)
		for form, text := range map[string]string{
			"checksums": "sha512-" + strings.ReplaceAll(code, "/", "\nsha512-"), "hex": hex.EncodeToString(bytes), "identifiers": fmt.Sprintf("%x-%x", bytes[:4], bytes[4:6]),
			"a source map": "sourceMappingURL=data:application/json;base64," + code, "code": strings.NewReplacer("+", "_", "/", "=").Replace(code),
		} {
			findsNothing(t, f, fmt.Sprint(form, " ", n), text)
		}
	}
}

// findsNothing tests that nothing is found in a text, as text in a message and in base64.
func findsNothing(t *testing.T, f *Searcher, name, text string) {
	t.Helper()
	escaped, err := json.Marshal(text)
	testkit.Must(t, err)
	for form, message := range map[string][]byte{"text": escaped, "base64": []byte(base64.StdEncoding.EncodeToString([]byte(text)))} {
		if got := f.Find(message); got != nil {
			t.Errorf("%s as %s: %v", name, form, got)
		}
	}
}
