package install

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// maxCacheEntries bounds the entries of the user's cache that an installation makes visible.
// Each costs a few microseconds.
const maxCacheEntries = 200_000

// seedCache makes the user's cache of npm part of the installer's: it copies the index, and
// makes a link for each file of content. npm replaces links and never writes through them. It
// checks what it reads there against the integrity that it expects.
func seedCache(user, own string) error {
	marker := filepath.Join(own, ".seeded")
	if _, err := os.Lstat(marker); err == nil {
		return nil
	}
	count := 0
	err := filepath.WalkDir(user, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // part of the cache cannot be read: npm will ask the registry
		}
		rel, err := filepath.Rel(user, name)
		if err != nil {
			return err
		}
		to := filepath.Join(own, rel)
		switch {
		case rel == "tmp":
			return filepath.SkipDir
		case d.IsDir():
			return os.MkdirAll(to, 0o700)
		case !d.Type().IsRegular():
			return nil
		}
		if count++; count > maxCacheEntries {
			return filepath.SkipAll
		}
		if top, _, _ := cutPath(rel); top == "index-v5" {
			return copyFile(name, to)
		}
		if err := os.Symlink(name, to); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		return nil
	})
	if err != nil {
		return err
	}
	return os.WriteFile(marker, nil, 0o600)
}

// cutPath cuts a relative path after its first element.
func cutPath(rel string) (first, rest string, more bool) {
	for i := range len(rel) {
		if os.IsPathSeparator(rel[i]) {
			return rel[:i], rel[i+1:], true
		}
	}
	return rel, "", false
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return nil // as for a directory that cannot be read
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
