package records

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// TestSessionMarker tests that a lost record is reported for its own session, whatever
// other sessions did meanwhile.
func TestSessionMarker(t *testing.T) {
	m := MarkerBeside(File(hostfs.Host{StateDir: t.TempDir()}, "s"))
	if _, ok := m.Read(); ok {
		t.Fatal("there is one before the first session")
	}
	full := &os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}
	if m.saveLoss(time.Now(), full) == nil || m.exists() {
		t.Error("a loss makes a mark, of no session")
	}
	m.touch()
	first := time.Now()
	if got, ok := m.Read(); !ok || got.Cause != "" || got.Time.After(first) || first.Sub(got.Time) > time.Minute {
		t.Errorf("begun: %+v, %v", got, ok)
	}
	size := func() int64 {
		st, err := os.Stat(string(m))
		if err != nil {
			t.Fatal(err)
		}
		return st.Size()
	}
	if size() != markerSize {
		t.Errorf("%d bytes: a loss would need a block of the disk", size())
	}
	before, _ := m.Read()
	if err := m.saveLoss(first, full); err != nil {
		t.Fatal(err)
	}
	got, _ := m.Read()
	if got.Cause != "no space left on device" || !got.Time.Equal(before.Time) || got.LastActivity().Before(first) || size() != markerSize {
		t.Errorf("lost: %+v, %d bytes", got, size())
	}

	// A next session has started, and the first one loses its record again.
	time.Sleep(2 * time.Millisecond)
	m.touch()
	next, _ := m.Read()
	if next.Cause != "" || !next.Time.After(first) {
		t.Errorf("the next: %+v", next)
	}
	if err := m.saveLoss(first, full); err != nil {
		t.Fatal(err)
	}
	if got, _ = m.Read(); got.Cause != "" || !got.Time.Equal(next.Time) {
		t.Errorf("a loss of the session before passes for the next one's: %+v", got)
	}

	if got.Why == "" || !got.Session.Equal(first) {
		t.Errorf("and is no longer known to be its own: %+v", got)
	}
	// The record was written after all.
	if m.clearLoss(); size() != markerSize {
		t.Errorf("%d bytes", size())
	}
	if got, _ = m.Read(); got.Why != "" || !got.Time.Equal(next.Time) {
		t.Errorf("found: %+v", got)
	}

	// A crash during a write left a partial note.
	if err := os.WriteFile(string(m), []byte(`{"session":"20`+strings.Repeat(" ", markerSize)), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, ok := m.Read(); !ok || got.Cause != "" || got.Time.IsZero() {
		t.Errorf("torn: %+v, %v", got, ok)
	}
}

// TestRecordWithoutMarker tests that an old record is removed if not even a marker can be
// written. It would be taken for the latest.
func TestRecordWithoutMarker(t *testing.T) {
	for _, begun := range []bool{true, false} {
		k := New(hostfs.Host{StateDir: t.TempDir()}, "s")
		k.Save(diagnostics.Record{Server: "s", Time: time.Now()})
		if k.saveErr != nil {
			t.Fatal(k.saveErr)
		}
		if begun {
			k.marker.touch()
		}
		k.noteLoss(time.Now(), syscall.ENOSPC)
		if _, err := os.Stat(k.file); (err == nil) != begun {
			t.Errorf("begun %v: the record before: %v", begun, err)
		}
	}
}

// TestRecordIncomplete tests that `why` says when only an earlier state of a record could
// be written, and no longer says so after it was written completely.
func TestRecordIncomplete(t *testing.T) {
	host := hostfs.Host{StateDir: filepath.Join(t.TempDir(), "mcp-jail")}
	k := New(host, "s")
	k.marker.touch()
	r := diagnostics.Record{Server: "s", Time: time.Now()}
	dir := filepath.Dir(k.file)
	why := func() string {
		t.Helper()
		r, err := Load(host, "s")
		if err != nil {
			t.Fatal(err)
		}
		return r.Text()
	}
	const incomplete = "The last part of the record could not be written: "
	k.Save(r)
	if got := why(); strings.Contains(got, incomplete) {
		t.Error(got)
	}
	// A directory in place of the file makes writing fail for root, too.
	file := k.file
	k.file = dir
	if k.Save(r); k.LastError() == nil {
		t.Fatal("it was written")
	}
	k.file = file
	if got := why(); !strings.Contains(got, incomplete) || strings.Contains(got, "has no record") {
		t.Error(got)
	}
	if k.Save(r); k.LastError() != nil || strings.Contains(why(), incomplete) {
		t.Errorf("%v, %s", k.LastError(), why())
	}
}

// BenchmarkSessionMarker measures what marking a session adds to a start.
func BenchmarkSessionMarker(b *testing.B) {
	m := MarkerBeside(File(hostfs.Host{StateDir: b.TempDir()}, "s"))
	m.touch()
	for b.Loop() {
		m.touch()
	}
}
