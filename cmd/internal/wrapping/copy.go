package wrapping

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/clients/ownfile"
	"github.com/mcp-jail/mcp-jail/internal/private"
)

// backupsDir is the directory of the copies of files, in the state directory.
const backupsDir = "backups"

// maxBackups bounds the copies of a file in one second.
const maxBackups = 1000

// keepCopy keeps a copy of a file as it was read, with mode 0600, and returns its path. The name has
// the time and a hash of the file's path. dir is the state directory.
func keepCopy(dir string, own *ownfile.File, now time.Time) (string, error) {
	backups, err := private.Make(dir, backupsDir)
	if err != nil {
		return "", err
	}
	defer backups.Close()
	stem := copyStem(own.Real) + now.UTC().Format("20060102T150405Z")
	name, err := backups.Create(own.Data, private.How{Sync: true}, func(yield func(string) bool) {
		for i, number := 1, ""; i < maxBackups && yield(stem+number+copySuffix); i++ {
			number = fmt.Sprintf("-%d", i+1)
		}
	})
	return filepath.Join(dir, backupsDir, name), err
}

const copySuffix = ".mcp-jail-backup"

// copyStem begins the names of the copies of a file. The hash tells files of one name apart.
func copyStem(real string) string {
	hash := sha256.Sum256([]byte(real))
	return hex.EncodeToString(hash[:4]) + "-" + filepath.Base(real) + "."
}

// newestCopies is how many copies of a file are kept, in addition to that of the file before mcp-jail.
const newestCopies = 4

// prune removes the older copies of a file. It keeps the newest ones, and first, the copy from before mcp-jail: the
// oldest one if first is not known. Each copy may have tokens in it.
func prune(dir, real, first string) error {
	backups, err := private.Open(dir, backupsDir)
	if err != nil {
		return err
	}
	defer backups.Close()
	all, err := backups.Names()
	if err != nil {
		return err
	}
	var names []string
	for _, e := range all {
		if strings.HasPrefix(e.Name(), copyStem(real)) && strings.HasSuffix(e.Name(), copySuffix) {
			names = append(names, e.Name())
		}
	}
	second := func(name string) string { return name[:min(len(name), len(copyStem(real)+"20060102T150405Z"))] }
	slices.SortFunc(names, func(a, b string) int { // in one second, -10 is newer than -2
		return cmp.Or(strings.Compare(second(a), second(b)), len(a)-len(b), strings.Compare(a, b))
	})
	if first == "" && len(names) > 0 {
		first = names[0]
	}
	for _, name := range names[:max(0, len(names)-newestCopies)] {
		if name != filepath.Base(first) {
			err = errors.Join(err, backups.Remove(name))
		}
	}
	return err
}

// RemoveBackups removes the copies of clients' files, and what is recorded of these files, and returns how many copies
// it removed. Copies of a file that still names mcp-jail stay, and those of a file that cannot be read: unwrap points
// to them. Copies whose file is gone or not recorded are removed. dir is the state directory.
func RemoveBackups(dir string) (removed int, err error) {
	keep, err := removeRecords(dir)
	if err != nil {
		return 0, err
	}
	backups, err := private.Open(dir, backupsDir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer backups.Close()
	all, err := backups.Names()
	for _, e := range all {
		isKept := slices.ContainsFunc(keep, func(stem string) bool { return strings.HasPrefix(e.Name(), stem) })
		if isKept || !strings.HasSuffix(e.Name(), copySuffix) {
			continue
		}
		if failed := backups.Remove(e.Name()); failed != nil {
			err = errors.Join(err, failed)
			continue
		}
		removed++
	}
	return removed, err
}

// removeRecords removes what is recorded of files that do not name mcp-jail any more, and returns the stems of the
// copies of the others.
func removeRecords(dir string) (keep []string, err error) {
	records, err := private.Open(dir, wrappedDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer records.Close()
	all, err := records.Names()
	for _, e := range all {
		var r Backup
		text, failed := records.ReadFile(e.Name(), largestBackup)
		if failed != nil || json.Unmarshal(text, &r) != nil || r.File == "" {
			continue // no record of a file
		}
		now, failed := ownfile.ReadLarge(r.File)
		if failed == nil && bytes.Contains(now.Data, []byte(bareName)) || failed != nil && !errors.Is(failed, fs.ErrNotExist) {
			keep = append(keep, copyStem(r.File))
			continue
		}
		err = errors.Join(err, records.Remove(e.Name()))
	}
	return keep, err
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

// Backup is what mcp-jail kept and wrote into a client's file.
type Backup struct {
	File  string    `json:"file"`
	Time  time.Time `json:"time"`
	Copy  string    `json:"backup"` // the file as it was before this
	First string    `json:"first"`  // the file as it was before it had any entry of mcp-jail's; "" if that is not known
}

// BackupError reports that a file was changed, but that the record of the change was not written.
type BackupError struct{ Err error }

func (e *BackupError) Error() string {
	return "the file was changed, but mcp-jail does not know its copies any more: " + e.Err.Error()
}

func (e *BackupError) Unwrap() error { return e.Err }

// Key identifies an entry of a file.
func (s Entry) Key() string { return strings.Join(s.Path, "/") }

const (
	wrappedDir    = "wrapped" // in the state directory
	largestBackup = 16 << 20
)

func backupName(file string) string {
	sum := sha256.Sum256([]byte(file))
	return hex.EncodeToString(sum[:8]) + ".json"
}

func (c *Change) writeBackup(records *private.Dir, dir, backup string, now time.Time) error {
	r := Backup{File: c.File.own.Real, Time: now.UTC().Truncate(time.Second), Copy: backup}
	r.First = c.File.first(dir, backup)
	after := c.File.again()
	if after.Err != nil {
		return after.Err
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := records.Replace(backupName(r.File), append(text, '\n'), private.How{}); err != nil {
		return err
	}
	return remember(after, dir, c.After)
}

// first returns the copy of a file from before it had any entry of mcp-jail, or "" if that is not
// known. backup is the newest copy.
func (f *File) first(dir, backup string) string {
	if !f.hasWrapped() {
		return backup
	}
	r, err := f.Backup(dir)
	switch {
	case err != nil:
		return ""
	case r == nil:
		return backup
	}
	return f.Original(dir, r)
}

func (f *File) hasWrapped() bool {
	return slices.ContainsFunc(f.Entries, func(e Entry) bool {
		_, is := clients.ParseWrapped(e.Argv())
		return is
	})
}

// Backup returns what is recorded of a file, or nil if mcp-jail has not written it. dir is the state
// directory.
func (f *File) Backup(dir string) (*Backup, error) {
	if f.own == nil {
		return nil, nil
	}
	text, err := private.ReadFile(dir, filepath.Join(wrappedDir, backupName(f.own.Real)), largestBackup)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var r Backup
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, err
	}
	return &r, nil
}
