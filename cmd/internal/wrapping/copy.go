package wrapping

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/mcp-jail/mcp-jail/clients/ownfile"
	"github.com/mcp-jail/mcp-jail/internal/private"
)

// backupsDir is the directory of the copies of files, in the state directory.
const backupsDir = "backups"

// maxBackups bounds the copies of a file in one second.
const maxBackups = 1000

// KeepCopy keeps a copy of a file as it was read, with mode 0600, and returns its path. The name has
// the time and a hash of the file's path. dir is the state directory.
func KeepCopy(dir string, own *ownfile.File, now time.Time) (string, error) {
	backups, err := private.Make(dir, backupsDir)
	if err != nil {
		return "", err
	}
	defer backups.Close()
	// The hash tells files of one name apart.
	hash := sha256.Sum256([]byte(own.Real))
	stem := hex.EncodeToString(hash[:4]) + "-" + filepath.Base(own.Real) + "." + now.UTC().Format("20060102T150405Z")
	name, err := backups.Create(own.Data, private.How{Sync: true}, func(yield func(string) bool) {
		for i, number := 1, ""; i < maxBackups && yield(stem+number+".mcp-jail-backup"); i++ {
			number = fmt.Sprintf("-%d", i+1)
		}
	})
	return filepath.Join(dir, backupsDir, name), err
}

func openCopy(dir, name string) (*os.File, error) {
	below, err := filepath.Rel(dir, name)
	if err != nil {
		return nil, err
	}
	d, err := private.Open(dir, filepath.Dir(below))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.OpenFile(filepath.Base(below), os.O_RDONLY, 0)
}

// Original returns the path of the copy of the file from before mcp-jail first wrote it, which a
// record names. It is "" if that copy is gone or not known. dir is the state directory.
func (f *File) Original(dir string, r *Backup) string {
	if r == nil {
		return ""
	}
	file, err := openCopy(dir, r.First)
	if err != nil {
		return ""
	}
	file.Close()
	return r.First
}

// Differs reports whether the file, which was written, has no entry of mcp-jail any more and
// still differs from original, its copy from before mcp-jail first wrote it.
func (c *Change) Differs(dir, original string) bool {
	after := c.File.again()
	if original == "" || after.Err != nil || after.hasWrapped() {
		return false
	}
	before, err := openCopy(dir, original)
	if err != nil {
		return false
	}
	defer before.Close()
	hash := sha256.New()
	_, err = io.Copy(hash, before)
	return err == nil && sha256.Sum256(after.own.Data) != [sha256.Size]byte(hash.Sum(nil))
}
