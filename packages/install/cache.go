package install

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

const (
	// maxCacheEntries bounds the entries of the user's cache that an installation looks at.
	maxCacheEntries = 200_000
	// seedTime bounds the time for the content. npm asks the registry for the rest. If this
	// installation is interrupted, the next one continues the seeding.
	seedTime = 2 * time.Second
)

// cacheContent is where a cache of npm has the content whose names are SHA-512 sums.
var cacheContent = filepath.Join("content-v2", "sha512")

// seedCache makes a link in the installer's cache for each file of content in the user's cache of
// npm. It leaves out files that cannot be read: npm asks the registry for them. npm replaces links
// and never writes through them.
//
// A server may have written the user's cache. So the index, which says which content a package has,
// is left out, and so is content under a weaker sum than the registry gives for packages of today.
// npm looks up a file by the integrity that the registry has just told, and checks it.
func seedCache(ctx context.Context, user, own string) error {
	marker := filepath.Join(own, ".seeded")
	if _, err := os.Lstat(marker); err == nil {
		return nil
	}
	count, late, end := 0, false, time.Now().Add(seedTime)
	err := filepath.WalkDir(filepath.Join(user, cacheContent), func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		count++
		if late = time.Now().After(end); late || count > maxCacheEntries || ctx.Err() != nil {
			return filepath.SkipAll
		}
		rel, err := filepath.Rel(user, name)
		if err != nil {
			return err
		}
		return seedEntry(name, filepath.Join(own, rel), d)
	})
	// Without the marker, the next installation continues.
	if err != nil || late {
		return errors.Join(err, ctx.Err())
	}
	return errors.Join(ctx.Err(), os.WriteFile(marker, nil, 0o600))
}

func seedEntry(name, to string, d fs.DirEntry) error {
	switch {
	case d.IsDir():
		return os.MkdirAll(to, 0o700)
	case !d.Type().IsRegular():
		return nil
	}
	if _, err := os.Lstat(to); err == nil {
		return nil
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
