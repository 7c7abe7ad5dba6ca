package wrapping

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
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
	File    string              `json:"file"`
	Time    time.Time           `json:"time"`
	Copy    string              `json:"backup"`  // the file as it was before this
	First   string              `json:"first"`   // the file as it was before it had any entry of mcp-jail's; "" if that is not known
	Servers map[string][]string `json:"servers"` // the hash of each command line, by Key
}

// BackupError reports that a file was changed, but that the record of the change was not written.
type BackupError struct{ Err error }

func (e *BackupError) Error() string {
	return "the file was changed, but mcp-jail status will not know since when: " + e.Err.Error()
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
	r := Backup{File: c.File.own.Real, Time: now.UTC().Truncate(time.Second), Copy: backup, Servers: map[string][]string{}}
	r.First = c.File.first(dir, backup)
	// The hashes are of what was written, as the clients read it.
	after := c.File.again()
	if after.Err != nil {
		return after.Err
	}
	for _, s := range after.Entries {
		r.Servers[s.Key()] = hashes(s)
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

// hashes returns short hashes of the words of a command line, and of the other parts of an entry
// that decide how the server runs. The words may be secret.
func hashes(s Entry) []string {
	out := []string{}
	words := append(s.Argv(), s.Cwd, s.EnvFile, fmt.Sprint(s.Env, s.Names))
	for _, w := range words {
		sum := sha256.Sum256([]byte(w))
		out = append(out, hex.EncodeToString(sum[:6]))
	}
	return out
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

// Since says what happened to a server since mcp-jail wrote the file.
type Since string

// Values of Since.
const (
	Same    Since = ""
	Added   Since = "added"
	Changed Since = "changed"
)

// Compare returns what happened to each server of a file since a record, and the keys of the
// servers that are gone.
func (f *File) Compare(r *Backup) (since map[string]Since, gone []string) {
	since = map[string]Since{}
	if r == nil {
		return since, nil
	}
	there := map[string]bool{}
	for _, s := range f.Entries {
		there[s.Key()] = true
		before, known := r.Servers[s.Key()]
		switch {
		case !known:
			since[s.Key()] = Added
		case !slices.Equal(before, hashes(s)):
			since[s.Key()] = Changed
		}
	}
	for key := range r.Servers {
		if !there[key] {
			gone = append(gone, key)
		}
	}
	slices.Sort(gone)
	return since, gone
}
