package install

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

const (
	// maxCacheEntries bounds the entries of the user's cache that an installation makes
	// visible. Each costs some ten microseconds.
	maxCacheEntries = 200_000
	// seedTime bounds the time for it. What is missing then is asked of the registry.
	seedTime = 3 * time.Second
	// maxIndexFile bounds a file of the index, which has a few hundred bytes.
	maxIndexFile = 1 << 20
)

// seedCache makes the user's cache of npm part of the installer's: it copies the index, and
// makes a link for each file of content. npm replaces links and never writes through them. It
// checks what it reads there against the integrity that it expects. What cannot be read is
// left out: npm asks the registry for it.
func seedCache(ctx context.Context, user, own string) error {
	marker := filepath.Join(own, ".seeded")
	if _, err := os.Lstat(marker); err == nil {
		return nil
	}
	end, count := time.Now().Add(seedTime), 0
	for _, top := range []string{"index-v5", "content-v2"} {
		err := filepath.WalkDir(filepath.Join(user, top), func(name string, d fs.DirEntry, err error) error {
			if err != nil {
				return nil
			}
			if count++; count > maxCacheEntries || time.Now().After(end) || ctx.Err() != nil {
				return filepath.SkipAll
			}
			rel, err := filepath.Rel(user, name)
			if err != nil {
				return err
			}
			return seedEntry(name, filepath.Join(own, rel), d, top == "index-v5")
		})
		if err != nil {
			return err
		}
	}
	return errors.Join(ctx.Err(), os.WriteFile(marker, nil, 0o600))
}

// seedEntry makes one entry of the user's cache part of the installer's.
func seedEntry(name, to string, d fs.DirEntry, isIndex bool) error {
	switch {
	case d.IsDir():
		return os.MkdirAll(to, 0o700)
	case !d.Type().IsRegular():
		return nil
	case isIndex:
		return copyFile(name, to)
	}
	f, err := os.Open(name) // npm would fail with EACCES, and not ask the registry
	if err != nil {
		return nil
	}
	f.Close()
	if err := os.Symlink(name, to); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// copyFile copies a file of the index, unless the installer has one of that name already.
func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return nil // as for a directory that cannot be read
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = io.Copy(out, io.LimitReader(in, maxIndexFile))
	return errors.Join(err, out.Close())
}
