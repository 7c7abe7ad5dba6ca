package catalog

import (
	"errors"
	"io"
	"os"
	"slices"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/private"
)

// Bounds of a directory. A server has a file for each of its clients, their versions and
// working directories.
const (
	maxPerServer = 32
	maxFiles     = 256
	maxTotal     = 64 << 20 // bytes
)

func read(d *private.Dir, name string, now time.Time) ([]byte, error) {
	f, err := d.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !owned(fi) {
		return nil, errors.New("it belongs to another user")
	}
	text, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err != nil || len(text) > MaxFile {
		return nil, errors.Join(err, errTooLarge)
	}
	if age := now.Sub(fi.ModTime()); age > 24*time.Hour || age < 0 {
		_ = d.Touch(name, now) // prune uses this time; once a day is enough
	}
	return text, nil
}

// write replaces a file. It does not call fsync: a file that a power cut has torn does not
// decode, and the server is asked again.
func write(d *private.Dir, name string, text []byte, now time.Time) error {
	err := d.Replace(name, text, private.How{})
	if err == nil {
		err = d.Touch(name, now)
	}
	return err
}

// prune removes files that were not used for MaxAge, and the least recently used of too many. It
// removes only files with names of a catalog, and never the file just written.
func prune(d *private.Dir, written string, now time.Time) {
	type file struct {
		name, server string
		size         int64
		used         time.Time
	}
	var files []file
	names, err := d.Names()
	if err != nil {
		return // the next Put tries again
	}
	for _, n := range names {
		server, ok := splitName(n.Name())
		fi, err := d.Lstat(n.Name())
		if err != nil || !fi.Mode().IsRegular() || !owned(fi) || !ok || n.Name() == written {
			continue
		}
		if age := now.Sub(fi.ModTime()); age > MaxAge || age < -24*time.Hour { // the last: written while the clock was wrong
			_ = d.Remove(n.Name())
		} else {
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
			_ = d.Remove(f.name)
		}
	}
}
