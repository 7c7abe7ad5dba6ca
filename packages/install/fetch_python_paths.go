package install

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcp-jail/mcp-jail/packages/python"
)

// samePath says that two packages of a tree have written one file, so that a part of one would run as
// the other. The packages are named by their dist-info.
func samePath(path, a, b string) error {
	a, b = strings.TrimSuffix(a, ".dist-info"), strings.TrimSuffix(b, ".dist-info")
	return fmt.Errorf("the packages %s and %s both write %s, and only one of the two files could be there: "+
		"mcp-jail does not install them together", a, b, path)
}

// checkPaths returns an error if two packages have written one file, or one has written into
// the dist-info of another. infos are the directories dist-info in site. A file that both packages
// have in the same form, such as the __init__.py of a common namespace, is no such file.
func checkPaths(system string, site *os.Root, infos []string) error {
	first := map[string]python.Recorded{}
	owner := map[string]string{}
	for _, dir := range infos {
		files, err := readRecord(site, filepath.Join(dir, "RECORD"))
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

// isSameFile reports whether two packages recorded the same content for a file, and the file has it. The
// packages themselves have written the sums.
func isSameFile(site *os.Root, a, b python.Recorded) bool {
	sum, err := sumOf(filepath.Join(site.Name(), filepath.FromSlash(a.Path)))
	return err == nil && a.Sum == b.Sum && a.Sum == base64.RawURLEncoding.EncodeToString(sum)
}

// sumOf returns the SHA-256 of a regular file.
func sumOf(name string) ([]byte, error) {
	if info, err := os.Lstat(name); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(fmt.Errorf("%s is not a regular file", name), err)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return h.Sum(nil), err
}
