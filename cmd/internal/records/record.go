// Package records keeps the record of the last session of each server, which `mcp-jail why`
// reads, in the state directory of the user.
//
//   - [New] returns the Recorder of a session: its Save is the Sink of lifecycle.Session.
//   - [About] says what runs and for which client, for `mcp-jail status`.
//   - [Open] opens the directory of a server's records. [Dir.Marker] reveals sessions that have no
//     record, and [Dir.Running] reports whether a session has the
//     directory.
//   - [Load] returns the record of a server's last session, and facts about other sessions.
//
// All files are opened by package private. Two sessions of one server may write at the same time;
// the last one wins.
package records

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/internal/private"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// ServersDir is the directory, in the state directory, that has a directory for each server.
const ServersDir = "servers"

// The files of a server. The private HOME of the server is their sibling, so the server cannot see
// them.
const (
	lastFile   = "last.json"   // the record of the last session
	failedFile = "failed.json" // the record of the last failed session before it
	aboutFile  = "about.json"
	markerFile = "begun"
)

// maxFile bounds what is read of a file, in bytes.
const maxFile = 64 << 20

// Path returns the directory of a server's records, which is also that of its private HOMEs.
func Path(host hostfs.Host, server string) string {
	return filepath.Join(host.StateDir, ServersDir, server)
}

// Dir is the open directory of a server's records.
type Dir struct{ *private.Dir }

// Open opens the directory of a server's records. The error matches fs.ErrNotExist if the server
// had no session.
func Open(host hostfs.Host, server string) (Dir, error) {
	own, err := private.Open(host.StateDir, filepath.Join(ServersDir, server))
	return Dir{own}, err
}

func makeDir(host hostfs.Host, server string) (Dir, error) {
	own, err := private.Make(host.StateDir, filepath.Join(ServersDir, server))
	return Dir{own}, err
}

// Recorder writes the record of one session. If it cannot, the session continues and
// warns of it.
type Recorder struct {
	// About returns what runs. It is called after the start, which does not wait for it. If it is
	// nil, no file of it is written.
	About func() About
	// Project is that of the records: see diagnostics.Record.
	Project string

	aboutMu   sync.Mutex // ClientNamed and Save run on different goroutines
	client    Client
	described bool // About and client are in their file

	host    hostfs.Host
	server  string
	unsafe  error // why nothing may be written; nil if it may
	saveErr error // of the last save
	saved   bool  // there is a record of this session
}

// New returns the recorder of a session of a server.
func New(host hostfs.Host, server string) *Recorder { return &Recorder{host: host, server: server} }

// MarkStart marks the start of a session. Until this process ends, Running reports that it runs.
func (k *Recorder) MarkStart() {
	d, err := makeDir(k.host, k.server)
	if err == nil {
		defer d.Close()
		err = d.touch()
		d.hold()
		k.describe(d) // with the name by which people call it
	}
	var owner *hostfs.OwnerError
	if errors.As(err, &owner) {
		k.unsafe = err
	}
}

// Save writes a record. It is the Sink of the session.
func (k *Recorder) Save(r diagnostics.Record) {
	if k.unsafe != nil {
		k.saveErr = k.unsafe
		return
	}
	d, err := makeDir(k.host, k.server)
	if err != nil {
		k.saveErr = err
		return
	}
	defer d.Close()
	k.describe(d)
	// A record that is written again takes back the note about a lost one.
	before := k.saveErr
	switch k.saveErr = k.write(d, r); {
	case k.saveErr != nil:
		d.noteLoss(r.Time, k.saveErr)
	case before != nil:
		d.clearLoss()
	}
}

func (d Dir) noteLoss(session time.Time, cause error) {
	if _, begun := d.Marker(); d.saveLoss(session, cause) != nil && !begun {
		d.Remove(lastFile) // an older record would be taken for that of this session
	}
}

// LastError returns the error of the last save. It is the Lost of the session.
func (k *Recorder) LastError() error { return k.saveErr }

func (k *Recorder) write(d Dir, r diagnostics.Record) error {
	r.Project = k.Project
	b, err := r.Encode()
	if err != nil {
		return err
	}
	err = d.Replace(lastFile, b, private.How{Before: func() error {
		if !k.saved {
			d.preserveFailure()
		}
		return nil
	}})
	k.saved = k.saved || err == nil
	return err
}

// preserveFailure keeps a copy of the record of an earlier session if that session failed: this
// session is about to replace it.
func (d Dir) preserveFailure() {
	b, err := d.ReadFile(lastFile, maxFile)
	if err != nil {
		return
	}
	if diagnostics.HasDiagnosis(b) {
		_ = d.Replace(failedFile, b, private.How{})
	}
}

// Reader returns a function that reads the record of a server's last session.
func Reader(host hostfs.Host, server string) func() (diagnostics.Record, bool) {
	return func() (diagnostics.Record, bool) {
		d, err := Open(host, server)
		if err != nil {
			return diagnostics.Record{}, false
		}
		defer d.Close()
		return d.Last()
	}
}

// Last returns the record of the last session. ok reports whether there is a readable one.
func (d Dir) Last() (r diagnostics.Record, ok bool) { return d.read(lastFile) }

// Failed returns the record of the last failed session before the last one.
func (d Dir) Failed() (r diagnostics.Record, ok bool) { return d.read(failedFile) }

func (d Dir) read(name string) (r diagnostics.Record, ok bool) {
	b, err := d.ReadFile(name, maxFile)
	if err != nil {
		return r, false
	}
	r, err = diagnostics.DecodeRecord(b)
	return r, err == nil
}

// Written returns when the last record was written, or the zero time if there is none.
func (d Dir) Written() (at time.Time) {
	if info, err := d.Lstat(lastFile); err == nil {
		at = info.ModTime()
	}
	return at
}

// Load reads the record of a server's last session and adds what is known of other sessions.
func Load(host hostfs.Host, server string) (record diagnostics.Record, err error) {
	none := errors.New("there is no record of a session of it")
	d, err := Open(host, server)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return record, none
	case err != nil:
		return record, err
	}
	defer d.Close()
	newer, marked := d.Marker()
	b, err := d.ReadFile(lastFile, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		if marked {
			return record, errors.New(newer.Text())
		}
		return record, none
	}
	if err != nil {
		return record, err
	}
	if record, err = diagnostics.DecodeRecord(b); err != nil {
		return record, fmt.Errorf("%s: %w", filepath.Join(Path(host, server), lastFile), err)
	}
	// These members tell of other sessions: only the other files count for them.
	if record.Newer = nil; marked && record.Time.Before(newer.Time) {
		record.Newer = &newer.LostRecord
	}
	if record.Incomplete = ""; newer.Session.Equal(record.Time) {
		record.Incomplete = newer.Why
	}
	if record.Failed = nil; len(record.Diagnoses) == 0 {
		if failed, ok := d.Failed(); ok {
			failed.Failed, failed.Newer, failed.Incomplete = nil, nil, ""
			record.Failed = &failed
		}
	}
	return record, nil
}

// Running reports whether a session of the server runs now.
func (d Dir) Running() bool {
	unlock, free := d.Lock()
	if free {
		unlock()
	}
	return !free
}
