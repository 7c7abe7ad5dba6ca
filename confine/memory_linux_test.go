package confine

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestMemoryWatchIsNotBlind: a /proc that cannot be read is not a jail that uses
// nothing.
func TestMemoryWatchIsNotBlind(t *testing.T) {
	w := memoryWatch{proc: "/proc", limit: 1 << 62, members: othersIn("/proc")}
	if _, err := w.sample(); err != nil || w.used == 0 || w.threads == 0 {
		t.Errorf("the control: %d bytes, %d threads, %v", w.used, w.threads, err)
	}
	w.members = othersIn(t.TempDir() + "/missing")
	if end, err := w.sample(); err == nil || len(end) != 0 {
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
		{4096 * mb, 4090 * mb, 0, 0, shortPause, shortPause},
		{4096 * mb, 5000 * mb, 0, 0, shortPause, shortPause},
		{64 * mb, 10 * mb, 0, 0, shortPause, 20 * time.Millisecond},
		{64 * mb, 60 * mb, 0, 20 * time.Millisecond, 200 * time.Millisecond, 200 * time.Millisecond},
		{4096 * mb, 2048 * mb, 0, 6 * time.Second, 900 * time.Millisecond, time.Second},
	} {
		w := memoryWatch{limit: c.limit, used: c.used, rate: c.rate, took: c.took}
		if d := w.pause(); d < c.least || d > c.most {
			t.Errorf("%+v: %v", c, d)
		}
		w.excess.strain = 1
		if d := w.pause(); d != shortPause {
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

// TestMemoryWatchCounts: what was swapped out and what maps the rest is memory as well, in
// the cheap count and in the exact one; and so is a file with nothing in it.
func TestMemoryWatchCounts(t *testing.T) {
	if inMounts(t, "mount -t tmpfs none /mnt;") {
		return
	}
	const kb = 1 << 10
	w, f := watchOver(t, 1<<20)
	f.set("2", 0, 0)
	for name, text := range map[string]string{
		"status":       "VmRSS:\t100 kB\nVmSwap:\t20 kB\nVmPTE:\t3 kB\nThreads:\t1\n",
		"smaps_rollup": "Pss:\t50 kB\nSwapPss:\t10 kB\n",
	} {
		if err := os.WriteFile(filepath.Join(f.dir, "2", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cheap := w.resident("2")
	if exact := w.proportional("2", cheap); cheap.total != 123*kb || exact.total != 63*kb {
		t.Errorf("%d and %d kB, want 123 and 63", cheap.total/kb, exact.total/kb)
	}
	w.tmpfs = []string{"/mnt"}
	before := w.files()
	const n = 1000
	for i := range n {
		if err := os.WriteFile(fmt.Sprint("/mnt/", i), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if more := w.files() - before; more < n*inodeSize {
		t.Errorf("%d files are %d bytes", n, more)
	}
}

// TestBlindWatchEndsTheJail: a limit that nobody watches is none.
func TestBlindWatchEndsTheJail(t *testing.T) {
	needsJail(t)
	needs(t, "fresh_proc")
	fault := blindness()
	dir := testkit.Plant(t)
	for _, blind := range []bool{true, false} {
		l := Launcher{Shim: testBinary}
		if blind {
			l.testHooks.steps = fault.strike
		} else if err := os.WriteFile(dir+"/go", nil, 0o644); err != nil {
			t.Fatal(err)
		}
		s := beginWith(t, l, limited(t, policy.Limits{MemoryMB: 512}, grant{dir, r}), try("await", dir+"/go"))
		exit := s.finish()
		told := slices.ContainsFunc(s.Denials(), func(d Denial) bool { return strings.Contains(d.Operation, "cannot be watched") })
		if told != blind || (exit.Signal == unix.SIGKILL) != blind || strings.Contains(s.out.String(), succeeded) == blind {
			t.Errorf("blind %t: exit %+v, %q, denials %+v", blind, exit, s.out, s.Denials())
		}
	}
}
