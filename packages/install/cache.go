package install

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	// maxCacheEntries bounds the entries of the user's cache that an installation looks at.
	maxCacheEntries = 200_000
	// seedTime bounds the time for the content, and again for the index. npm asks the registry
	// for the rest. If this installation is interrupted, the next one continues the seeding.
	seedTime = 2 * time.Second
	// maxIndexFile bounds a file of the index, which has a few hundred bytes.
	maxIndexFile = 1 << 20
)

// seedCache makes the user's cache of npm part of the installer's. It makes a link for each file
// of content, and copies the entries of the index whose content is there. It leaves out files that
// cannot be read: npm asks the registry for them. npm replaces links and never writes through
// them. npm checks the content against the integrity that it expects.
func seedCache(ctx context.Context, user, own string) error {
	marker := filepath.Join(own, ".seeded")
	if _, err := os.Lstat(marker); err == nil {
		return nil
	}
	count, whole := 0, true
	for _, top := range []string{"content-v2", "index-v5"} {
		end := time.Now().Add(seedTime)
		err := filepath.WalkDir(filepath.Join(user, top), func(name string, d fs.DirEntry, err error) error {
			if err != nil {
				return nil
			}
			count++
			if late := time.Now().After(end); late || count > maxCacheEntries || ctx.Err() != nil {
				whole = whole && !late
				return filepath.SkipAll
			}
			rel, err := filepath.Rel(user, name)
			if err != nil {
				return err
			}
			return seedEntry(name, own, rel, d, top == "index-v5")
		})
		if err != nil {
			return err
		}
	}
	if !whole {
		return ctx.Err()
	}
	return errors.Join(ctx.Err(), os.WriteFile(marker, nil, 0o600))
}

// seedEntry makes one entry of the user's cache part of the installer's.
func seedEntry(name, own, rel string, d fs.DirEntry, isIndex bool) error {
	to := filepath.Join(own, rel)
	switch {
	case d.IsDir() && isIndex:
		return nil // made when it is needed
	case d.IsDir():
		return os.MkdirAll(to, 0o700)
	case !d.Type().IsRegular():
		return nil
	case isIndex:
		return copyIndex(name, to, own)
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

// copyIndex copies the entries of a file of the index whose content the installer's cache has: for
// an entry without content, npm fails with ENOENT. A file of the index that the installer's cache
// has already is kept.
func copyIndex(from, to, own string) error {
	in, err := os.Open(from)
	if err != nil {
		return nil // as for a directory that cannot be read
	}
	defer in.Close()
	text, err := io.ReadAll(io.LimitReader(in, maxIndexFile))
	if err != nil {
		return nil
	}
	var kept []byte
	for line := range bytes.Lines(text) {
		if e, ok := parseIndex(line); ok {
			if file, err := contentFile(own, e.Integrity); err == nil && readable(file) {
				kept = append(append(kept, '\n'), bytes.TrimRight(line, "\n")...)
			}
		}
	}
	if kept == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = out.Write(kept)
	return errors.Join(err, out.Close())
}

func readable(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// indexEntry is a line of the index of npm's cache (cacache, version 5 of its index).
type indexEntry struct {
	Key, Integrity string
	Metadata       struct {
		ReqHeaders map[string]string
	}
}

// parseIndex returns the entry of a line: a checksum, a tab and JSON. npm verifies the checksum.
func parseIndex(line []byte) (e indexEntry, ok bool) {
	_, text, ok := bytes.Cut(line, []byte("\t"))
	return e, ok && json.Unmarshal(text, &e) == nil
}

// contentFile returns the path of the content with an integrity in npm's cache.
func contentFile(cache, integrity string) (string, error) {
	kind, text, _ := strings.Cut(integrity, "-")
	sum, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(sum) < 3 || strings.Trim(kind, "abcdefghijklmnopqrstuvwxyz0123456789") != "" || kind == "" {
		return "", errors.New("this is no integrity: " + integrity)
	}
	digits := hex.EncodeToString(sum)
	return filepath.Join(cache, "content-v2", kind, digits[:2], digits[2:4], digits[4:]), nil
}
