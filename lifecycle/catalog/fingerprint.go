package catalog

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// ErrNotCacheable is wrapped by the errors of Fingerprint.
var ErrNotCacheable = errors.New("no fingerprint can be taken of the program")

// manifests are the files by which an installation of another version differs, in a directory of the
// program or in one above it.
var manifests = []string{
	"package.json", "node_modules/.package-lock.json", "node_modules/.yarn-integrity", "node_modules/.pnpm/lock.yaml",
	"pyproject.toml", "uv.lock", "pyvenv.cfg",
}

// caches are the directories in the server's HOME to which a launcher adds what it fetches.
var caches = []string{".npm/_npx", ".cache/uv/archive-v0", ".local/share/uv/tools", ".bun/install/cache"}

// Fingerprint returns a digest of the program of a profile: of path, size, times and inode of each
// file that belongs to it (policy.Profile.Parts), of each file that an argument names, and of the
// manifests in the directories around these. Fingerprint opens no file. What it does not see, such as
// an edit inside a package, is found when the answers are asked for again.
func Fingerprint(p *policy.Profile) (string, error) {
	d := digest{sum: sha256.New(), seen: map[string]bool{}, home: p.Home}
	for _, part := range append([]policy.Part{{Path: p.Program}}, p.Parts...) {
		if _, err := os.Stat(part.Path); err != nil {
			return "", fmt.Errorf("%w: %w", ErrNotCacheable, err)
		}
		d.around(part.Path)
	}
	for i, arg := range p.Argv {
		_, value, _ := strings.Cut(arg, "=")
		for _, name := range [...]string{arg, value} {
			if i > 0 && name != "" {
				if !filepath.IsAbs(name) {
					name = filepath.Join(p.Dir, name)
				}
				d.around(name)
			}
		}
	}
	for _, dir := range caches {
		d.file(filepath.Join(p.Home, dir), true)
	}
	if d.unknown {
		return "", fmt.Errorf("%w: this system does not tell whether a file has changed", ErrNotCacheable)
	}
	return hex.EncodeToString(d.sum.Sum(nil)), nil
}

type digest struct {
	sum     hash.Hash
	seen    map[string]bool
	home    string
	unknown bool
}

// around adds a file, what a link of that name leads to, and the manifests in the directories around both.
func (d *digest) around(name string) {
	d.file(name, false)
	real, err := filepath.EvalSymlinks(name)
	if err != nil {
		return
	}
	for _, file := range [...]string{name, real} {
		d.file(file, false)
		for dir := file; dir != filepath.Dir(dir) && !policy.Within(d.home, dir); dir = filepath.Dir(dir) {
			for _, m := range manifests {
				d.file(filepath.Join(dir, m), false)
			}
		}
	}
}

// file adds the stamp of a file. The times of a directory change with names in it: they count where
// listing says so.
func (d *digest) file(name string, listing bool) {
	if d.seen[name] {
		return
	}
	d.seen[name] = true
	d.sum.Write(append([]byte(name), 0))
	fi, err := os.Stat(name)
	if err != nil {
		return
	}
	values, known := stamp(fi)
	d.unknown = d.unknown || !known
	if known && fi.IsDir() && !listing {
		values = []int64{values[0], values[2], values[3]}
	}
	for _, v := range values {
		d.sum.Write(binary.BigEndian.AppendUint64(nil, uint64(v)))
	}
}
