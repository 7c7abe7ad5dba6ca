package install

import (
	"crypto/sha512"
	"encoding/base64"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/packages/npmcache"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// put writes a file and the directories above it.
func put(t testing.TB, file, text string) {
	t.Helper()
	testkit.Must(t, os.MkdirAll(filepath.Dir(file), 0o700))
	testkit.Must(t, os.WriteFile(file, []byte(text), 0o600))
}

// entry returns a line of an index for a content.
func entry(content string) string {
	sum := sha512.Sum512([]byte(content))
	return "\nchecksum\t" + `{"key":"k ` + content + `","integrity":"sha512-` + base64.StdEncoding.EncodeToString(sum[:]) + `","metadata":{"reqHeaders":{"accept":"*/*"}}}`
}

// place returns where a cache has a content.
func place(t testing.TB, cache, content string) string {
	t.Helper()
	e, ok := npmcache.ParseIndex([]byte(entry(content)))
	file, err := npmcache.ContentFile(cache, e.Integrity)
	if !ok || err != nil {
		t.Fatal(err)
	}
	return file
}

// TestSeedCache tests what an installation takes from the user's cache of npm: content under strong
// sums, and nothing that says which content a package has.
func TestSeedCache(t *testing.T) {
	user, own := t.TempDir(), t.TempDir()
	put(t, place(t, user, "one"), "one")
	others := []string{"index-v5/aa/bb/cc", "content-v2/sha1/aa/bb/cc", "tmp/half", "content-v2/sha512/README"}
	for _, name := range others[:3] {
		put(t, filepath.Join(user, name), entry("one"))
	}
	testkit.Must(t, os.Symlink(place(t, user, "one"), filepath.Join(user, others[3])))
	for range 2 {
		testkit.Must(t, seedCache(t.Context(), user, own))
	}
	if to, err := os.Readlink(place(t, own, "one")); err != nil || to != place(t, user, "one") {
		t.Errorf("%q, %v", to, err)
	}
	for _, name := range others {
		if _, err := os.Lstat(filepath.Join(own, name)); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
	if err := seedCache(t.Context(), filepath.Join(user, "missing"), t.TempDir()); err != nil {
		t.Errorf("a missing cache: %v", err)
	}
}

// FuzzParseIndex tests that no line of an index leads out of the cache.
func FuzzParseIndex(f *testing.F) {
	f.Add([]byte(entry("one")))
	f.Add([]byte("x\t{\"integrity\":\"../..-AAAA\"}"))
	f.Fuzz(func(t *testing.T, line []byte) {
		if e, ok := npmcache.ParseIndex(line); ok {
			if file, err := npmcache.ContentFile("/cache", e.Integrity); err == nil && !strings.HasPrefix(file, "/cache/content-v2/") {
				t.Errorf("%q leads to %s", line, file)
			}
		}
	})
}
