package confine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// plant makes a tree on the host: a name with a slash at its end is a directory,
// "a -> b" a symlink, "a = b" a hard link, every other a file with its name as
// content. It returns the directory, which is not below /tmp.
func plant(t testing.TB, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	plantBelow(t, dir, names...)
	return dir
}

func plantBelow(t testing.TB, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		link, target, isLink := strings.Cut(name, " -> ")
		hard, other, isHard := strings.Cut(name, " = ")
		p := filepath.Join(dir, name)
		var err error
		switch {
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(p, 0o755)
		case isLink:
			err = os.Symlink(target, filepath.Join(dir, link))
		case isHard:
			err = os.Link(filepath.Join(dir, other), filepath.Join(dir, hard))
		default:
			if err = os.MkdirAll(filepath.Dir(p), 0o755); err == nil {
				err = os.WriteFile(p, []byte(filepath.Base(name)), 0o755)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
