package install

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcp-jail/mcp-jail/packages/python"
)

// A SamePathError says that two packages of a tree have written one file, so that a part of one
// would run as the other.
type SamePathError struct {
	Path     string // below site-packages
	Packages [2]string
}

func (e *SamePathError) Error() string {
	return fmt.Sprintf("the packages %s and %s both write %s, and only one of the two files could be there: mcp-jail does not install them together", e.Packages[0], e.Packages[1], e.Path)
}

// checkPaths returns a *SamePathError if two packages have written one file, or one has written into
// the dist-info of another. infos are the directories dist-info in site. A file that both packages
// have in the same form, such as the __init__.py of a common namespace, is no such file.
func checkPaths(system string, site *os.Root, infos []string) error {
	first := map[string]python.Recorded{}
	owner := map[string]string{}
	for _, dir := range infos {
		text, err := readSmall(site, filepath.Join(dir, "RECORD"))
		if err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
		files, err := python.ReadRecord(text)
		if err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
		for _, f := range files {
			top, _, below := strings.Cut(f.Path, "/")
			// Files beside dist-info may be shared, but metadata belong to one package.
			if below && top != dir && strings.HasSuffix(spelled(system, top), ".dist-info") {
				return samePath(f.Path, top, dir)
			}
			name := spelled(system, f.Path)
			other, there := first[name]
			if there && owner[name] != dir && !isSameFile(site, f, other) {
				return samePath(f.Path, owner[name], dir)
			}
			first[name], owner[name] = f, dir
		}
	}
	return nil
}

// spelled returns one spelling for all names of a file: usually on macOS, case does not count.
func spelled(system, name string) string {
	if system == "darwin" {
		return strings.ToLower(name)
	}
	return name
}

func samePath(path, a, b string) error {
	return &SamePathError{path, [2]string{strings.TrimSuffix(a, ".dist-info"), strings.TrimSuffix(b, ".dist-info")}}
}

// isSameFile reports whether two packages recorded the same content for a file, and the file has it. The
// packages themselves have written the sums.
func isSameFile(site *os.Root, a, b python.Recorded) bool {
	if a.Sum == "" || a.Sum != b.Sum {
		return false
	}
	f, err := site.Open(filepath.FromSlash(a.Path))
	if err != nil {
		return false
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return false
	}
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return false
	}
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)) == a.Sum
}
