package records

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

// Marker is the path of a file beside the record of a server. It reveals sessions that have no
// record. Its modification time is the start of the latest session: setting it costs one system
// call. Its content says why a record could not be written. The file has its full size from the
// beginning and is overwritten in place, which works on a full disk.
type Marker string

const markerSize = 512

// MarkerBeside returns the marker of the server that has this file for its record.
func MarkerBeside(record string) Marker {
	return Marker(filepath.Join(filepath.Dir(record), "begun"))
}

// MarkerState is the content of a marker.
type MarkerState struct {
	diagnostics.LostRecord
	LossNote // zero if no record was lost; may be about an earlier session
}

// LossNote says which record could not be written, and why.
type LossNote struct {
	Session time.Time `json:"session"` // the Time of the lost record
	At      time.Time `json:"at"`
	Why     string    `json:"why"`
}

// touch marks the start of a session. It returns no error: if it fails, writing the record
// fails too, and the session warns of that.
func (m Marker) touch() {
	now := time.Now()
	if err := os.Chtimes(string(m), now, now); !errors.Is(err, fs.ErrNotExist) {
		return
	}
	if os.MkdirAll(filepath.Dir(string(m)), 0o700) != nil || m.overwrite(nil) != nil {
		return
	}
	os.Chtimes(string(m), now, now)
}

// saveLoss saves why the record of a session could not be written.
func (m Marker) saveLoss(session time.Time, cause error) error {
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
	return m.replace(content)
}

// clearLoss removes the note, because a later save has written the record.
func (m Marker) clearLoss() { m.replace(nil) }

// replace overwrites the content and keeps the modification time: another session may
// have started since.
func (m Marker) replace(content []byte) error {
	begun, err := os.Stat(string(m))
	if err != nil {
		return err
	}
	err = m.overwrite(content)
	return errors.Join(err, os.Chtimes(string(m), begun.ModTime(), begun.ModTime()))
}

// overwrite writes the content in place, padded to markerSize.
func (m Marker) overwrite(content []byte) error {
	f, err := os.OpenFile(string(m), os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	all := bytes.Repeat([]byte{' '}, markerSize)
	copy(all, content)
	_, err = f.WriteAt(all, 0)
	return errors.Join(err, f.Close())
}

func (m Marker) exists() bool {
	_, err := os.Stat(string(m))
	return err == nil
}

// Read reads a marker. ok reports whether there is one.
func (m Marker) Read() (out MarkerState, ok bool) {
	st, err := os.Stat(string(m))
	if err != nil {
		return out, false
	}
	out.Time = st.ModTime()
	b, err := os.ReadFile(string(m))
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
// session is the Time of the record in file. The time of the file can be some milliseconds too
// early, and so before the marker of its own session.
func BegunSince(file string, session time.Time) bool {
	written, err := os.Stat(file)
	m, marked := MarkerBeside(file).Read()
	return err == nil && marked && m.Time.After(session) && m.Time.After(written.ModTime()) && m.Cause == ""
}

// LastActivity returns the time of the latest known event.
func (m MarkerState) LastActivity() time.Time {
	if m.At.After(m.Time) {
		return m.At
	}
	return m.Time
}
