package answers

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/private"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/clientinfo"
)

// Bounds of the directory. A server has a file for each of its clients, their versions and its working
// directories.
const (
	maxFile  = 8 << 20 // bytes
	maxFiles = 256
	maxTotal = 64 << 20 // bytes
	suffix   = ".json"
)

// content is what a file holds. Answers are base64 in it, since JSON inside JSON would not keep their bytes.
type content struct {
	Key     string          `json:"key"` // as in the file's name
	Answers map[string]kept `json:"answers"`
}

// keyFor returns the name of the file with the answers to a client, or "" if none is kept between sessions. It
// digests the version of mcp-jail and the policy, the server and its words among it, the era, and what the
// client says of itself. What else changes an answer, as an update of the program does, is found by asking the
// server again.
func (o *Options) keyFor(info *clientinfo.Info) string {
	if o.Dir == "" || runtime.GOOS == "windows" { // there the jail does not keep a server from writing in it
		return ""
	}
	sum := sha256.New()
	for _, field := range []string{"answers 1", o.Version, o.Profile().Key(), info.EraName(), string(info.Key())} {
		// With a length before each field, no two lists of fields have the same bytes.
		sum.Write(binary.BigEndian.AppendUint64(nil, uint64(len(field))))
		sum.Write([]byte(field))
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// load returns the answers that a file holds, and none if it cannot be read, belongs to others or is damaged.
func load(dir, key string) map[string]kept {
	text, err := private.ReadFile(filepath.Dir(dir), filepath.Join(filepath.Base(dir), key+suffix), maxFile)
	if err != nil {
		return nil
	}
	var c content
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if d.Decode(&c) != nil || c.Key != key {
		return nil
	}
	for name, k := range c.Answers {
		if !isKeepable(name) || !k.isValid() {
			return nil
		}
		k.earlier = true
		c.Answers[name] = k
	}
	return c.Answers
}

// save replaces a file by a rename, so that a reader sees the old or the new one. It does not wait for the disk:
// a file that a power cut has torn is damaged.
func save(dir, key string, answers map[string]kept) error {
	text, err := json.Marshal(content{key, answers})
	if err != nil {
		return err
	}
	if len(text) > maxFile {
		return errors.New("they are too large")
	}
	d, err := private.Make(filepath.Dir(dir), filepath.Base(dir))
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Replace(key+suffix, text, private.How{}); err != nil {
		return err
	}
	prune(d, key+suffix)
	return nil
}

// prune removes files that no longer hold a fresh answer, and the oldest of too many, but not the one just
// written.
func prune(d *private.Dir, written string) {
	type file struct {
		name string
		size int64
		age  time.Duration
	}
	var files []file
	names, err := d.Names()
	if err != nil {
		return // the next save tries again
	}
	for _, n := range names {
		info, err := d.Lstat(n.Name())
		if err == nil && info.Mode().IsRegular() && strings.HasSuffix(n.Name(), suffix) && n.Name() != written {
			files = append(files, file{n.Name(), info.Size(), time.Since(info.ModTime())})
		}
	}
	slices.SortFunc(files, func(a, b file) int { return cmp.Compare(a.age, b.age) })
	count, total := 1, int64(maxFile)
	for _, f := range files {
		count++
		total += f.size
		// A file from the future was written while the clock was wrong.
		if f.age > maxAge || f.age < -time.Hour || count > maxFiles || total > maxTotal {
			_ = d.Remove(f.name)
		}
	}
}
