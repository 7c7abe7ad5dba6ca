package main

import (
	"os"
	"path/filepath"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// recordFile returns the file of a server's last record, StateDir/servers/NAME/last.json.
// The private HOME of the server is its sibling, so the server cannot see the record.
func recordFile(host hostfs.Host, server string) string {
	return filepath.Join(host.StateDir, "servers", server, "last.json")
}

// recorder writes the record of one session. If it cannot, the session continues and
// warns of it.
type recorder struct {
	file    string
	marker  sessionMarker
	unsafe  error // why nothing may be written
	saveErr error // of the last save
	saved   bool  // file has a record of this session
}

func newRecorder(host hostfs.Host, server string) *recorder {
	file := recordFile(host, server)
	return &recorder{file: file, marker: markerBeside(file), unsafe: checkRecordPrivate(host, server)}
}

// checkRecordPrivate returns an error if another user could change the record of a server
// or the files beside it, or redirect them by a symbolic link.
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

// markStart marks the start of a session.
func (k *recorder) markStart() {
	if k.unsafe == nil {
		k.marker.touch()
	}
}

// save writes a record. It is the Sink of the session.
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
		os.Remove(k.file) // an older record would be taken for that of this session
	}
}

// lastError returns the error of the last save. It is the Lost of the session.
func (k *recorder) lastError() error { return k.saveErr }

func (k *recorder) write(r diagnostics.Record) error {
	b, err := r.Encode()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(k.file), 0o700); err != nil {
		return err
	}
	// Two sessions of a server may end at the same time. Each writes a file of its own,
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

// failedRecordFile returns the file beside a record that holds the record of the last
// failed session before it.
func failedRecordFile(file string) string { return filepath.Join(filepath.Dir(file), "failed.json") }

// preserveFailure moves the record of an earlier session aside if that session failed and
// this session is about to replace it.
func (k *recorder) preserveFailure() {
	if k.saved {
		return
	}
	if r, ok := readRecord(k.file); !ok || len(r.Diagnoses) == 0 {
		return
	}
	os.Remove(failedRecordFile(k.file))
	if os.Link(k.file, failedRecordFile(k.file)) != nil { // some filesystems have no hard links
		os.Rename(k.file, failedRecordFile(k.file))
	}
}

// recordReader returns a function that reads the record of a server's last session.
func recordReader(host hostfs.Host, server string) func() (diagnostics.Record, bool) {
	return func() (diagnostics.Record, bool) {
		if checkRecordPrivate(host, server) != nil {
			return diagnostics.Record{}, false
		}
		return readRecord(recordFile(host, server))
	}
}

// readRecord reads a record. ok reports whether there is a readable one.
func readRecord(file string) (r diagnostics.Record, ok bool) {
	b, err := os.ReadFile(file)
	if err != nil {
		return r, false
	}
	r, err = diagnostics.DecodeRecord(b)
	return r, err == nil
}
