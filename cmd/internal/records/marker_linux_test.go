package records

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// TestSessionMarker tests that a lost record is reported for its own session, whatever
// other sessions did meanwhile.
func TestSessionMarker(t *testing.T) {
	host := hostfs.Host{StateDir: t.TempDir()}
	m, err := makeDir(host, "s")
	must(t, err)
	defer m.Close()
	file := filepath.Join(Path(host, "s"), markerFile)
	if _, ok := m.Marker(); ok {
		t.Fatal("there is one before the first session")
	}
	full := &os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}
	if m.saveLoss(time.Now(), full) == nil {
		t.Error("a loss of no session is marked")
	}
	if _, ok := m.Marker(); ok {
		t.Error("a loss makes a mark, of no session")
	}
	m.touch()
	first := time.Now()
	if got, ok := m.Marker(); !ok || got.Cause != "" || got.Time.After(first) || first.Sub(got.Time) > time.Minute {
		t.Errorf("begun: %+v, %v", got, ok)
	}
	size := func() int64 {
		st, err := os.Stat(file)
		testkit.Must(t, err)
		return st.Size()
	}
	if size() != markerSize {
		t.Errorf("%d bytes: a loss would need a block of the disk", size())
	}
	before, _ := m.Marker()
	testkit.Must(t, m.saveLoss(first, full))
	got, _ := m.Marker()
	if got.Cause != "no space left on device" || !got.Time.Equal(before.Time) || got.LastActivity().Before(first) || size() != markerSize {
		t.Errorf("lost: %+v, %d bytes", got, size())
	}

	// A next session has started, and the first one loses its record again.
	time.Sleep(2 * time.Millisecond)
	m.touch()
	next, _ := m.Marker()
	if next.Cause != "" || !next.Time.After(first) {
		t.Errorf("the next: %+v", next)
	}
	testkit.Must(t, m.saveLoss(first, full))
	if got, _ = m.Marker(); got.Cause != "" || !got.Time.Equal(next.Time) {
		t.Errorf("a loss of the session before passes for the next one's: %+v", got)
	}

	if got.Why == "" || !got.Session.Equal(first) {
		t.Errorf("and is no longer known to be its own: %+v", got)
	}
	// The record was written after all.
	if m.clearLoss(); size() != markerSize {
		t.Errorf("%d bytes", size())
	}
	if got, _ = m.Marker(); got.Why != "" || !got.Time.Equal(next.Time) {
		t.Errorf("found: %+v", got)
	}

	// A crash during a write left a partial note.
	testkit.Must(t, os.WriteFile(file, []byte(`{"session":"20`+strings.Repeat(" ", markerSize)), 0o600))
	if got, ok := m.Marker(); !ok || got.Cause != "" || got.Time.IsZero() {
		t.Errorf("torn: %+v, %v", got, ok)
	}
}

// TestRecordWithoutMarker tests that an old record is removed if not even a marker can be
// written. It would be taken for the latest.
func TestRecordWithoutMarker(t *testing.T) {
	for _, begun := range []bool{true, false} {
		host := hostfs.Host{StateDir: t.TempDir()}
		k := New(host, "s")
		k.Save(diagnostics.Record{Server: "s", Time: time.Now()})
		if k.saveErr != nil {
			t.Fatal(k.saveErr)
		}
		d, err := Open(host, "s")
		must(t, err)
		defer d.Close()
		if begun {
			must(t, d.touch())
		}
		d.noteLoss(time.Now(), syscall.ENOSPC)
		if _, err := os.Stat(filepath.Join(Path(host, "s"), lastFile)); (err == nil) != begun {
			t.Errorf("begun %v: the record before: %v", begun, err)
		}
	}
}

// TestRecordIncomplete tests that `why` says when only an earlier state of a record could
// be written, and no longer says so after it was written completely.
func TestRecordIncomplete(t *testing.T) {
	host := hostfs.Host{StateDir: filepath.Join(t.TempDir(), "mcp-jail")}
	k := New(host, "s")
	k.MarkStart()
	r := diagnostics.Record{Server: "s", Time: time.Now()}
	why := func() string {
		t.Helper()
		r, err := Load(host, "s")
		testkit.Must(t, err)
		return r.Text(func(diagnostics.Record) string { return "" }, true)
	}
	const incomplete = "The last part of the record could not be written: "
	k.Save(r)
	if got := why(); strings.Contains(got, incomplete) {
		t.Error(got)
	}
	// A limit on the size of files makes writing fail for root, too.
	var limit syscall.Rlimit
	must(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit))
	must(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 1 << 20, Max: limit.Max}))
	long := r
	long.Server = strings.Repeat("s", 2<<20)
	k.Save(long)
	must(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit))
	if k.LastError() == nil {
		t.Fatal("it was written")
	}
	if got := why(); !strings.Contains(got, incomplete) || strings.Contains(got, "has no record") {
		t.Error(got)
	}
	if k.Save(r); k.LastError() != nil || strings.Contains(why(), incomplete) {
		t.Errorf("%v, %s", k.LastError(), why())
	}
}
