package oom

import (
	"bytes"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/internal/proc"
	"golang.org/x/sys/unix"
)

// TestMemoryWatchIsNotBlind: a /proc that cannot be read is not a jail that uses
// nothing.
func TestMemoryWatchIsNotBlind(t *testing.T) {
	w := MemoryWatch{Proc: "/proc", Limit: 1 << 62, Members: proc.JailProcesses("/proc")}
	if _, err := w.Sample(); err != nil || w.used == 0 || w.Threads == 0 {
		t.Errorf("the control: %d bytes, %d threads, %v", w.used, w.Threads, err)
	}
	w.Members = proc.JailProcesses(t.TempDir() + "/missing")
	if end, err := w.Sample(); err == nil || len(end) != 0 {
		t.Errorf("nothing to read: processes %v, error %v", end, err)
	}
}

// TestMemoryWatchHurries: the pause follows what is left and how fast it goes.
func TestMemoryWatchHurries(t *testing.T) {
	const mb = 1 << 20
	for _, c := range []struct {
		limit, used int64
		rate        float64
		took        time.Duration
		least, most time.Duration
	}{
		{4096 * mb, 50 * mb, 0, 0, 900 * time.Millisecond, time.Second},
		{4096 * mb, 2048 * mb, 0, 0, 400 * time.Millisecond, 600 * time.Millisecond},
		{4096 * mb, 2048 * mb, 20 << 30, 0, 20 * time.Millisecond, 60 * time.Millisecond},
		{4096 * mb, 4090 * mb, 0, 0, ShortPause, ShortPause},
		{4096 * mb, 5000 * mb, 0, 0, ShortPause, ShortPause},
		{64 * mb, 10 * mb, 0, 0, ShortPause, 20 * time.Millisecond},
		{64 * mb, 60 * mb, 0, 20 * time.Millisecond, 200 * time.Millisecond, 200 * time.Millisecond},
		{4096 * mb, 2048 * mb, 0, 6 * time.Second, 900 * time.Millisecond, time.Second},
	} {
		w := MemoryWatch{Limit: c.limit, used: c.used, rate: c.rate, Took: c.took}
		if d := w.Pause(); d < c.least || d > c.most {
			t.Errorf("%+v: %v", c, d)
		}
		w.Excess.strain = 1
		if d := w.Pause(); d != ShortPause {
			t.Errorf("%+v, just over the limit: %v", c, d)
		}
	}
}

// TestMemfdSearchInParts: thousands of descriptors keep nobody from watching the rest.
func TestMemfdSearchInParts(t *testing.T) {
	self := strconv.Itoa(os.Getpid())
	others := newMemfdSearch("/proc", []string{self}) // of a stub's program
	for !others.goOn("/proc", time.Now().Add(time.Minute)) {
	}
	fd, err := unix.MemfdCreate("hoard", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if _, err := unix.Write(fd, bytes.Repeat([]byte{1}, 3<<20)); err != nil {
		t.Fatal(err)
	}
	for range 500 {
		copied, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(copied)
	}
	m := newMemfdSearch("/proc", []string{self})
	parts := 1
	for ; !m.goOn("/proc", time.Now()); parts++ {
	}
	if parts < 8 || m.total-others.total != 3<<20 || m.held[self]-others.held[self] != 3<<20 {
		t.Errorf("%d parts, %d bytes, of them %d of this process", parts, m.total, m.held[self])
	}
}
