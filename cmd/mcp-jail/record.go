package main

import (
	"os"
	"path/filepath"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// The record of a server's last session stands beside its private HOME, which
// the server cannot see: StateDir/servers/NAME/last.json.
func recordFile(host hostfs.Host, server string) string {
	return filepath.Join(host.StateDir, "servers", server, "last.json")
}

// recorder keeps the record of one session. What cannot be written is said and no
// more: a record is not worth a failing session.
type recorder struct {
	file    string
	marker  sessionMarker
	unsafe  error // why nothing is written there
	saveErr error // of the last keep
	saved   bool  // one was: what is there is of this session
}

func newRecorder(host hostfs.Host, server string) *recorder {
	file := recordFile(host, server)
	return &recorder{file: file, marker: markerBeside(file), unsafe: checkRecordPrivate(host, server)}
}

// checkRecordPrivate checks that another user has no say in a record and what is beside it, nor
// by a link in which file is written.
func checkRecordPrivate(host hostfs.Host, server string) error {
	file := recordFile(host, server)
	for _, name := range []string{file, string(markerBeside(file)), failedRecordFile(file)} {
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

// markStart notes that a session begins.
func (k *recorder) markStart() {
	if k.unsafe == nil {
		k.marker.touch()
	}
}

// save is the session's Sink.
func (k *recorder) save(r diagnostics.Record) {
	if k.unsafe != nil {
		k.saveErr = k.unsafe
		return
	}
	before := k.saveErr
	switch k.saveErr = k.write(r); {
	case k.saveErr != nil:
		k.noteLoss(r.Time, k.saveErr)
	case before != nil:
		k.marker.clearLoss()
	}
}

func (k *recorder) noteLoss(session time.Time, cause error) {
	if k.marker.saveLoss(session, cause) != nil && !k.marker.exists() {
		os.Remove(k.file) // better none than one that passes for this session's
	}
}

// lastError is the session's Lost.
func (k *recorder) lastError() error { return k.saveErr }

func (k *recorder) write(r diagnostics.Record) error {
	b, err := r.Encode()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(k.file), 0o700); err != nil {
		return err
	}
	// Two sessions of one server may end at once: each writes a file of its own
	// and the last rename wins.
	tmp, err := os.CreateTemp(filepath.Dir(k.file), ".last-*")
	if err != nil {
		return err
	}
	_, err = tmp.Write(b)
	if closeErr := tmp.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		k.preserveFailure()
		err = os.Rename(tmp.Name(), k.file)
	}
	if err != nil {
		os.Remove(tmp.Name())
	}
	k.saved = k.saved || err == nil
	return err
}

// failedRecordFile is the record of the last session that had a failure, before the one that
// has its record in file.
func failedRecordFile(file string) string { return filepath.Join(filepath.Dir(file), "failed.json") }

// preserveFailure keeps the record of an earlier session that failed, which this session's
// is about to replace.
func (k *recorder) preserveFailure() {
	if k.saved {
		return
	}
	if r, ok := readRecord(k.file); !ok || len(r.Diagnoses) == 0 {
		return
	}
	os.Remove(failedRecordFile(k.file))
	if os.Link(k.file, failedRecordFile(k.file)) != nil { // not on every filesystem
		os.Rename(k.file, failedRecordFile(k.file))
	}
}

// recordReader reads the record of a server's last session.
func recordReader(host hostfs.Host, server string) func() (diagnostics.Record, bool) {
	return func() (diagnostics.Record, bool) {
		if checkRecordPrivate(host, server) != nil {
			return diagnostics.Record{}, false
		}
		return readRecord(recordFile(host, server))
	}
}

// readRecord reads a record; ok is false where there is none that can be read.
func readRecord(file string) (r diagnostics.Record, ok bool) {
	b, err := os.ReadFile(file)
	if err != nil {
		return r, false
	}
	r, err = diagnostics.DecodeRecord(b)
	return r, err == nil
}
