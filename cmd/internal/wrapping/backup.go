package wrapping

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/internal/private"
)

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
