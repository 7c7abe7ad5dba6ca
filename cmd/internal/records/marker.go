package records

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
)

// The marker is a file beside the record of a server. It reveals sessions that have no record. Its
// modification time is the start of the latest session: setting it costs two system calls. Its
// content says why a record could not be written. The file has its full size from the beginning and
// is overwritten in place, which works on a full disk.

const markerSize = 512

// markerState is the content of a marker.
type markerState struct {
	diagnostics.LostRecord
	LossNote // zero if no record was lost; may be about an earlier session
}

// LossNote says which record could not be written, and why.
type LossNote struct {
	Session time.Time `json:"session"` // the Time of the lost record
	At      time.Time `json:"at"`
	Why     string    `json:"why"`
}

// touch marks the start of a session. If it fails, writing the record fails too, and the session
// warns of that.
func (d Dir) touch() error {
	now := time.Now()
	err := d.Touch(markerFile, now)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := d.overwrite(nil); err != nil {
		return err
	}
	return d.Touch(markerFile, now)
}

// saveLoss saves why the record of a session could not be written.
func (d Dir) saveLoss(session time.Time, cause error) error {
	// The marker has no room for paths.
	var path *fs.PathError
	var link *os.LinkError
	if errors.As(cause, &path) {
		cause = path.Err
	} else if errors.As(cause, &link) {
		cause = link.Err
	}
	content, err := json.Marshal(LossNote{session, time.Now(), cause.Error()})
	if err != nil {
		return err
	}
	return d.replaceNote(content)
}

// clearLoss removes the note, because a later save has written the record.
func (d Dir) clearLoss() { d.replaceNote(nil) }

// replaceNote overwrites the content and keeps the modification time: another session may
// have started since.
func (d Dir) replaceNote(content []byte) error {
	begun, err := d.Lstat(markerFile)
	if err != nil {
		return err
	}
	err = d.overwrite(content)
	return errors.Join(err, d.Touch(markerFile, begun.ModTime()))
}

// overwrite writes the content in place, padded to markerSize.
func (d Dir) overwrite(content []byte) error {
	f, err := d.OpenFile(markerFile, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	all := bytes.Repeat([]byte{' '}, markerSize)
	copy(all, content)
	_, err = f.WriteAt(all, 0)
	return errors.Join(err, f.Close())
}

// Marker reads the marker. ok reports whether there is one.
func (d Dir) Marker() (out markerState, ok bool) {
	f, err := d.OpenFile(markerFile, os.O_RDONLY, 0)
	if err != nil {
		return out, false
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return out, false
	}
	out.Time = st.ModTime()
	b, err := io.ReadAll(io.LimitReader(f, markerSize))
	if err != nil || json.Unmarshal(b, &out.LossNote) != nil {
		out.LossNote = LossNote{} // no note, or a partial one
	}
	if !out.Session.Before(out.Time) {
		out.Cause = out.Why
	}
	return out, true
}

// BegunSince reports whether a session began after the last record was written, and has not
// failed: a failure is recorded at once. It does not count a session whose record was lost.
// session is the Time of the record. The time of its file can be some milliseconds too early, and so
// before its own session's marker.
func (d Dir) BegunSince(session time.Time) bool {
	written := d.Written()
	m, marked := d.Marker()
	return !written.IsZero() && marked && m.Time.After(session) && m.Time.After(written) && m.Cause == ""
}

// LastActivity returns the time of the latest known event.
func (m markerState) LastActivity() time.Time {
	if m.At.After(m.Time) {
		return m.At
	}
	return m.Time
}
