package main

import (
	"os"
	"path/filepath"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/policy"
)

// The record of a server's last session stands beside its private HOME, which
// the server cannot see: StateDir/servers/NAME/last.json.
func recordFile(host policy.Host, server string) string {
	return filepath.Join(host.StateDir, "servers", server, "last.json")
}

// recorder keeps the record of one session. What cannot be written is said and no
// more: a record is not worth a failing session.
type recorder struct {
	file    string
	mark    mark
	refused error // why nothing is written there
	err     error // of the last keep
	kept    bool  // one was: what is there is of this session
}

func newRecorder(host policy.Host, server string) *recorder {
	file := recordFile(host, server)
	return &recorder{file: file, mark: markBeside(file), refused: checkRecord(host, server)}
}

// checkRecord checks that another user has no say in a record and what is beside it, nor
// by a link in which file is written.
func checkRecord(host policy.Host, server string) error {
	file := recordFile(host, server)
	for _, name := range []string{file, string(markBeside(file)), failedFile(file)} {
		below, err := filepath.Rel(host.StateDir, name)
		if err == nil {
			err = policy.CheckPrivate(host.StateDir, below)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// begin notes that a session begins.
func (k *recorder) begin() {
	if k.refused == nil {
		k.mark.begin()
	}
}

// keep is the session's Sink.
func (k *recorder) keep(r diagnostics.Record) {
	if k.refused != nil {
		k.err = k.refused
		return
	}
	before := k.err
	switch k.err = k.write(r); {
	case k.err != nil:
		k.lose(r.Time, k.err)
	case before != nil:
		k.mark.found()
	}
}

func (k *recorder) lose(session time.Time, cause error) {
	if k.mark.lose(session, cause) != nil && !k.mark.exists() {
		os.Remove(k.file) // better none than one that passes for this session's
	}
}

// lost is the session's Lost.
func (k *recorder) lost() error { return k.err }

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
		k.keepFailure()
		err = os.Rename(tmp.Name(), k.file)
	}
	if err != nil {
		os.Remove(tmp.Name())
	}
	k.kept = k.kept || err == nil
	return err
}

// failedFile is the record of the last session that had a failure, before the one that
// has its record in file.
func failedFile(file string) string { return filepath.Join(filepath.Dir(file), "failed.json") }

// keepFailure keeps the record of an earlier session that failed, which this session's
// is about to replace.
func (k *recorder) keepFailure() {
	if k.kept {
		return
	}
	if r, ok := readRecord(k.file); !ok || len(r.Diagnoses) == 0 {
		return
	}
	os.Remove(failedFile(k.file))
	if os.Link(k.file, failedFile(k.file)) != nil { // not on every filesystem
		os.Rename(k.file, failedFile(k.file))
	}
}

// recordOf reads the record of a server's last session.
func recordOf(host policy.Host, server string) func() (diagnostics.Record, bool) {
	return func() (diagnostics.Record, bool) {
		if checkRecord(host, server) != nil {
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
