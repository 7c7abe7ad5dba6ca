package wrapping

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/clients/ownfile"
	"github.com/mcp-jail/mcp-jail/internal/private"
)

// backupsDir is the directory of the copies of files, in the state directory.
const backupsDir = "backups"

// keepCopy keeps a copy of a file as it was read, with mode 0600, and returns its path. The name has
// the time and a hash of the file's path. dir is the state directory.
func keepCopy(dir string, own *ownfile.File, now time.Time) (string, error) {
	backups, err := private.Make(dir, backupsDir)
	if err != nil {
		return "", err
	}
	defer backups.Close()
	name := copyStem(own.Real) + now.UTC().Format("20060102T150405.000000000Z") + copySuffix
	name, err = backups.Create(own.Data, private.How{Sync: true}, slices.Values([]string{name}))
	return filepath.Join(dir, backupsDir, name), err
}

const copySuffix = ".mcp-jail-backup"

// copyStem begins the names of the copies of a file. The hash tells files of one name apart.
func copyStem(real string) string {
	hash := sha256.Sum256([]byte(real))
	return hex.EncodeToString(hash[:4]) + "-" + filepath.Base(real) + "."
}

// newestCopies is how many copies of a file are kept, in addition to the oldest one.
const newestCopies = 4

// prune removes the older copies of a file. Each may have tokens in it.
func prune(dir, real string) error {
	return removeCopies(dir, copyStem(real), func(names []string) []string {
		oldest := min(1, len(names))
		return names[oldest:max(oldest, len(names)-newestCopies)]
	})
}

// RemoveBackups removes the copies of all files. dir is the state directory.
func RemoveBackups(dir string) error {
	return removeCopies(dir, "", func(names []string) []string { return names })
}

// removeCopies removes those of the copies whose names begin with stem that old selects. It gets them by time.
func removeCopies(dir, stem string, old func(names []string) []string) error {
	backups, err := private.Open(dir, backupsDir)
	if err != nil {
		return err
	}
	defer backups.Close()
	all, err := backups.Names()
	var names []string
	for _, e := range all {
		if strings.HasPrefix(e.Name(), stem) && strings.HasSuffix(e.Name(), copySuffix) {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	for _, name := range old(names) {
		err = errors.Join(err, backups.Remove(name))
	}
	return err
}
