package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
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

const (
	suffix  = ".json"
	maxName = 120 // bytes of an encoded server name
)

// encodeName returns a file name for a server's name; different names get different file
// names. Letters, digits, '-' and '_' stay, other bytes become %XX, and a long name is cut
// and gets a digest. The result has no dot.
func encodeName(server string) string {
	var b strings.Builder
	for i := range len(server) {
		switch c := server[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	name := b.String()
	if len(name) > maxName {
		sum := sha256.Sum256([]byte(server))
		name = name[:maxName-33] + "~" + hex.EncodeToString(sum[:16])
	}
	return name
}

func fileName(server, key string) string { return encodeName(server) + "." + key + suffix }

// splitName returns the encoded server name of a file name. ok is false for names that
// fileName does not return.
func splitName(name string) (server string, ok bool) {
	rest, is := strings.CutSuffix(name, suffix)
	server, key, dotted := strings.Cut(rest, ".")
	return server, is && dotted && isKey(key) && len(server) <= maxName
}

func isKey(s string) bool {
	return len(s) == 2*sha256.Size && strings.Trim(s, "0123456789abcdef") == ""
}
