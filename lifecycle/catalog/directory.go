package catalog

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// Bounds of a directory. A server has a file for each of its clients, their versions and
// working directories.
const (
	maxPerServer = 32
	maxFiles     = 256
	maxTotal     = 64 << 20 // bytes
)

// directory is an open directory of catalog files. Names are looked up in the directory
// that was opened, even if another one has taken its place.
type directory struct{ root *os.Root }

func (d directory) close() { d.root.Close() }

// openDir opens a directory that no other user may write.
func openDir(dir string) (directory, error) {
	if err := hostfs.CheckPrivate(filepath.Dir(dir), filepath.Base(dir)); err != nil {
		return directory{}, err
	}
	named, err := os.Lstat(dir)
	if err != nil {
		return directory{}, err
	}
	if !named.IsDir() { // a symbolic link is no directory either
		return directory{}, fmt.Errorf("%s is not a directory", dir)
	}
	if err := checkTrusted(named); err != nil {
		return directory{}, fmt.Errorf("%s %w", dir, err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return directory{}, err
	}
	opened, err := root.Stat(".")
	if err != nil || !os.SameFile(named, opened) {
		root.Close()
		return directory{}, errors.Join(err, fmt.Errorf("%s changed while it was opened", dir))
	}
	return directory{root}, nil
}

// makeDir creates the directory, if it does not exist, and opens it.
func makeDir(dir string) (directory, error) {
	if err := hostfs.CheckPrivate(filepath.Dir(dir), filepath.Base(dir)); err != nil {
		return directory{}, err // before MkdirAll follows a path that another user chose
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return directory{}, err
	}
	return openDir(dir)
}

// checkTrusted returns an error for a file that another user owns or may write.
func checkTrusted(fi os.FileInfo) error {
	switch {
	case !owned(fi):
		return errors.New("belongs to another user")
	case fi.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("may be written by others (mode %s)", fi.Mode().Perm())
	}
	return nil
}

// read returns the content of a trusted file, and notes that the file was used.
func (d directory) read(name string, now time.Time) ([]byte, error) {
	f, fi, err := d.open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := checkTrusted(fi); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err != nil || len(text) > MaxFile {
		return nil, errors.Join(err, errTooLarge)
	}
	if age := now.Sub(fi.ModTime()); age > 24*time.Hour || age < 0 {
		_ = d.root.Chtimes(name, now, now) // prune uses this time; once a day is enough
	}
	return text, nil
}

// open opens a regular file and no symbolic link: os.Root follows links that stay inside.
// If a writer replaces the file meanwhile, open tries again.
func (d directory) open(name string) (*os.File, os.FileInfo, error) {
	for range 20 {
		named, err := d.root.Lstat(name)
		if err != nil {
			return nil, nil, err
		}
		if !named.Mode().IsRegular() {
			return nil, nil, errors.New("not a regular file")
		}
		f, err := d.root.OpenFile(name, os.O_RDONLY|openFlags, 0)
		if err != nil {
			return nil, nil, err
		}
		if opened, err := f.Stat(); err == nil && os.SameFile(named, opened) {
			return f, opened, nil
		}
		f.Close()
	}
	return nil, nil, errors.New("other programs keep replacing it")
}

// write replaces a file. It does not call fsync: a file that a power cut has torn does not
// decode, and the server is asked again.
func (d directory) write(name string, text []byte, now time.Time) error {
	tmp := temporary + strings.ToLower(rand.Text())
	f, err := d.root.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL|openFlags, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = d.root.Chtimes(tmp, now, now)
	}
	if err == nil {
		err = d.root.Rename(tmp, name)
	}
	if err != nil {
		_ = d.root.Remove(tmp)
	}
	return err
}

// prune removes files that were not used for MaxAge, the least recently used of too many,
// and temporary files of writers that were killed. It removes only files with names of a
// catalog, and never the file just written.
func (d directory) prune(written string, now time.Time) {
	type file struct {
		name, server string
		size         int64
		used         time.Time
	}
	var files []file
	names, err := fs.ReadDir(d.root.FS(), ".")
	if err != nil {
		return // the next Put tries again
	}
	for _, n := range names {
		server, ok := splitName(n.Name())
		left := strings.HasPrefix(n.Name(), temporary)
		fi, err := d.root.Lstat(n.Name())
		if err != nil || !fi.Mode().IsRegular() || !owned(fi) || !ok && !left || n.Name() == written {
			continue
		}
		age := now.Sub(fi.ModTime())
		switch {
		case left && age > -time.Hour && age < time.Hour: // may still be written
		case left, age > MaxAge, age < -24*time.Hour: // the last: written while the clock was wrong
			_ = d.root.Remove(n.Name())
		default:
			files = append(files, file{n.Name(), server, fi.Size(), fi.ModTime()})
		}
	}
	slices.SortFunc(files, func(a, b file) int { return b.used.Compare(a.used) })
	own, _ := splitName(written)
	each, count, total := map[string]int{own: 1}, 1, int64(MaxFile)
	for _, f := range files {
		each[f.server]++
		count++
		total += f.size
		if each[f.server] > maxPerServer || count > maxFiles || total > maxTotal {
			_ = d.root.Remove(f.name)
		}
	}
}
