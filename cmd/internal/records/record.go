// Package records keeps the record of the last session of each server, which `mcp-jail why`
// reads, in the state directory of the user.
//
//   - [New] returns the Recorder of a session: its Save is the Sink of lifecycle.Session.
//   - [About] says what runs and for which client, for mcp-jail list.
//   - [Running] reports whether a session has a server's directory, and [Lock] locks it.
//   - [Marker] reveals sessions that have no record.
//   - [Load] returns the record of a server's last session, and facts about other sessions.
//
// A record is never written through a symbolic link, and none is read that another user
// could have written ([CheckPrivate]). Two sessions of one server may write at the same time;
// the last one wins.
package records

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// File returns the file of a server's last record, StateDir/servers/NAME/last.json.
// The private HOME of the server is its sibling, so the server cannot see the record.
func File(host hostfs.Host, server string) string {
	return filepath.Join(host.StateDir, "servers", server, "last.json")
}

// Recorder writes the record of one session. If it cannot, the session continues and
// warns of it.
type Recorder struct {
	// About returns what runs. It is called after the start, which does not wait for it. If it is
	// nil, no file of it is written.
	About func() About

	aboutMu   sync.Mutex // ClientNamed and Save run on different goroutines
	client    Client
	described bool // About and client are in their file

	file    string
	marker  Marker
	unsafe  error // why nothing may be written; nil if it may
	saveErr error // of the last save
	saved   bool  // file has a record of this session
}

// New returns the recorder of a session of a server.
func New(host hostfs.Host, server string) *Recorder {
	file := File(host, server)
	return &Recorder{file: file, marker: MarkerBeside(file), unsafe: CheckPrivate(host, server)}
}

// CheckPrivate returns an error if another user could change the record of a server
// or the files beside it, or redirect them by a symbolic link.
func CheckPrivate(host hostfs.Host, server string) error {
	file := File(host, server)
	for _, name := range []string{file, string(MarkerBeside(file)), FailedFile(file), AboutFile(file)} {
		below, err := filepath.Rel(host.StateDir, name)
		if err == nil {
			err = hostfs.CheckPrivate(host.StateDir, below)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// MarkStart marks the start of a session. Until this process ends, Running reports that it runs.
func (k *Recorder) MarkStart() {
	if k.unsafe == nil {
		k.marker.touch()
		hold(filepath.Dir(k.file))
	}
}

// Save writes a record. It is the Sink of the session.
func (k *Recorder) Save(r diagnostics.Record) {
	if k.unsafe != nil {
		k.saveErr = k.unsafe
		return
	}
	k.describe()
	before := k.saveErr
	switch k.saveErr = k.write(r); {
	case k.saveErr != nil:
		k.noteLoss(r.Time, k.saveErr)
	case before != nil:
		k.marker.clearLoss()
	}
}

func (k *Recorder) noteLoss(session time.Time, cause error) {
	if k.marker.saveLoss(session, cause) != nil && !k.marker.exists() {
		os.Remove(k.file) // an older record would be taken for that of this session
	}
}

// LastError returns the error of the last save. It is the Lost of the session.
func (k *Recorder) LastError() error { return k.saveErr }

func (k *Recorder) write(r diagnostics.Record) error {
	b, err := r.Encode()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(k.file), 0o700); err != nil {
		return err
	}
	err = replaceFile(k.file, b, k.preserveFailure)
	k.saved = k.saved || err == nil
	return err
}

// replaceFile replaces a file in one step. Two sessions of a server may end at the same time:
// each writes a file of its own, and the last rename wins. before, unless it is nil, runs
// before the rename.
func replaceFile(name string, text []byte, before func()) error {
	removeUnfinished(filepath.Dir(name))
	tmp, err := os.CreateTemp(filepath.Dir(name), ".last-*")
	if err != nil {
		return err
	}
	_, err = tmp.Write(text)
	if closeErr := tmp.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		if before != nil {
			before()
		}
		err = os.Rename(tmp.Name(), name)
	}
	if err != nil {
		os.Remove(tmp.Name())
	}
	return err
}

// removeUnfinished removes the temporary files of sessions that were killed in replaceFile.
func removeUnfinished(dir string) {
	left, _ := filepath.Glob(filepath.Join(dir, ".last-*"))
	for _, file := range left {
		if info, err := os.Lstat(file); err == nil && time.Since(info.ModTime()) > time.Minute {
			os.Remove(file)
		}
	}
}

// FailedFile returns the file beside a record that holds the record of the last
// failed session before it.
func FailedFile(file string) string { return filepath.Join(filepath.Dir(file), "failed.json") }

// preserveFailure moves the record of an earlier session aside if that session failed and
// this session is about to replace it.
func (k *Recorder) preserveFailure() {
	if k.saved {
		return
	}
	if r, ok := Read(k.file); !ok || len(r.Diagnoses) == 0 {
		return
	}
	os.Remove(FailedFile(k.file))
	if os.Link(k.file, FailedFile(k.file)) != nil { // some filesystems have no hard links
		os.Rename(k.file, FailedFile(k.file))
	}
}

// Reader returns a function that reads the record of a server's last session.
func Reader(host hostfs.Host, server string) func() (diagnostics.Record, bool) {
	return func() (diagnostics.Record, bool) {
		if CheckPrivate(host, server) != nil {
			return diagnostics.Record{}, false
		}
		return Read(File(host, server))
	}
}

// Read reads a record. ok reports whether there is a readable one.
func Read(file string) (r diagnostics.Record, ok bool) {
	b, err := os.ReadFile(file)
	if err != nil {
		return r, false
	}
	r, err = diagnostics.DecodeRecord(b)
	return r, err == nil
}

// LacksProgram reports whether the session of a record ended because there is no such program.
func LacksProgram(r diagnostics.Record) bool {
	n := len(r.Diagnoses)
	return n > 0 && r.Diagnoses[n-1].Explain == diagnostics.PageProgramMissing
}

// Load reads the record of a server's last session and adds what is known of other sessions.
func Load(host hostfs.Host, server string) (record diagnostics.Record, err error) {
	file := File(host, server)
	newer, marked := MarkerBeside(file).Read()
	b, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		if marked {
			return record, fmt.Errorf("server %q: %s", server, newer.Text())
		}
		return record, fmt.Errorf("there is no record of a session of server %q", server)
	}
	if err != nil {
		return record, err
	}
	if record, err = diagnostics.DecodeRecord(b); err != nil {
		return record, fmt.Errorf("%s: %w", file, err)
	}
	if record.Newer = nil; marked && record.Time.Before(newer.Time) {
		record.Newer = &newer.LostRecord
	}
	if record.Incomplete = ""; newer.Session.Equal(record.Time) {
		record.Incomplete = newer.Why
	}
	if record.Failed = nil; len(record.Diagnoses) == 0 {
		if failed, ok := Read(FailedFile(file)); ok {
			failed.Failed, failed.Newer, failed.Incomplete = nil, nil, ""
			record.Failed = &failed
		}
	}
	return record, nil
}

// Running reports whether a session of a server runs now.
func Running(host hostfs.Host, server string) bool {
	unlock, free := Lock(filepath.Dir(File(host, server)))
	if free {
		unlock()
	}
	return !free
}
