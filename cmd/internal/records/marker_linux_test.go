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

// TestRecordWithoutMarker tests that an old record is removed if a new one cannot be written and
// not even a marker is there. It would be taken for the latest.
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
			before := time.Now().Add(-time.Second)
			must(t, d.touch())
			if at, ok := d.Marker(); !ok || at.Before(before) {
				t.Errorf("begun at %v, %v", at, ok)
			}
		}
		// A limit on the size of files makes writing fail for root, too.
		var limit syscall.Rlimit
		must(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit))
		must(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 1 << 20, Max: limit.Max}))
		k = New(host, "s")
		k.Save(diagnostics.Record{Server: strings.Repeat("s", 2<<20), Time: time.Now()})
		must(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit))
		if k.LastError() == nil {
			t.Fatal("it was written")
		}
		if _, err := os.Stat(filepath.Join(Path(host, "s"), lastFile)); (err == nil) != begun {
			t.Errorf("begun %v: the record before: %v", begun, err)
		}
	}
}
