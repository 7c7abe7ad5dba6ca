package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
)

// sessionMarker is a file beside a server's record that tells of sessions without one. Its
// modification time is the begin of the latest session, which costs a start one
// system call. Its content is why a record could not be written: it has its size from
// the first day and is written in place, which a full disk does not keep from doing.
type sessionMarker string

const markerSize = 512

func markerBeside(record string) sessionMarker {
	return sessionMarker(filepath.Join(filepath.Dir(record), "begun"))
}

// markerState is what a mark says of the latest session.
type markerState struct {
	diagnostics.LostRecord
	lossNote // the zero one where nothing was lost; it may be of a session before
}

// lossNote is the content.
type lossNote struct {
	Session time.Time `json:"session"` // that of its record
	At      time.Time `json:"at"`
	Why     string    `json:"why"`
}

// touch notes that a session begins. Where that fails, so will its record, which is
// said then.
func (m sessionMarker) touch() {
	now := time.Now()
	if err := os.Chtimes(string(m), now, now); !errors.Is(err, fs.ErrNotExist) {
		return
	}
	if os.MkdirAll(filepath.Dir(string(m)), 0o700) != nil || m.overwrite(nil) != nil {
		return
	}
	os.Chtimes(string(m), now, now)
}

// saveLoss notes why the record of a session could not be written.
func (m sessionMarker) saveLoss(session time.Time, cause error) error {
	// Paths have no room there.
	var path *fs.PathError
	var link *os.LinkError
	if errors.As(cause, &path) {
		cause = path.Err
	} else if errors.As(cause, &link) {
		cause = link.Err
	}
	content, err := json.Marshal(lossNote{session, time.Now(), cause.Error()})
	if err != nil {
		return err
	}
	return m.replace(content)
}

// clearLoss takes a loss back: the record was written after all.
func (m sessionMarker) clearLoss() { m.replace(nil) }

// replace keeps the begin: another session may have begun since this one.
func (m sessionMarker) replace(content []byte) error {
	begun, err := os.Stat(string(m))
	if err != nil {
		return err
	}
	err = m.overwrite(content)
	return errors.Join(err, os.Chtimes(string(m), begun.ModTime(), begun.ModTime()))
}

// overwrite replaces the content in place.
func (m sessionMarker) overwrite(content []byte) error {
	f, err := os.OpenFile(string(m), os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	all := bytes.Repeat([]byte{' '}, markerSize)
	copy(all, content)
	_, err = f.WriteAt(all, 0)
	return errors.Join(err, f.Close())
}

func (m sessionMarker) exists() bool {
	_, err := os.Stat(string(m))
	return err == nil
}

func (m sessionMarker) read() (out markerState, ok bool) {
	st, err := os.Stat(string(m))
	if err != nil {
		return out, false
	}
	out.Time = st.ModTime()
	b, err := os.ReadFile(string(m))
	if err != nil || json.Unmarshal(b, &out.lossNote) != nil {
		out.lossNote = lossNote{} // none, or torn
	}
	if !out.Session.Before(out.Time) {
		out.Cause = out.Why
	}
	return out, true
}

// lastActivity is the last that is known of the session.
func (m markerState) lastActivity() time.Time {
	if m.At.After(m.Time) {
		return m.At
	}
	return m.Time
}
