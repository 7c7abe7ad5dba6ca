package supervisor

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestMemfdSearch checks that a process with many descriptors is searched in parts, and that
// each memfd counts once.
func TestMemfdSearch(t *testing.T) {
	self := strconv.Itoa(os.Getpid())
	before := newMemfdSearch("/proc", []string{self}) // memfds that the test process has already
	for !before.continueUntil(time.Now().Add(time.Minute)) {
	}
	fd := testkit.Get(unix.MemfdCreate("hoard", unix.MFD_CLOEXEC))(t)
	defer unix.Close(fd)
	testkit.Must(t, testkit.ErrorOf(unix.Write(fd, bytes.Repeat([]byte{1}, 3<<20))))
	for range 500 {
		copied := testkit.Get(unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0))(t)
		defer unix.Close(copied)
	}
	m := newMemfdSearch("/proc", []string{self})
	parts := 1
	for ; !m.continueUntil(time.Now()); parts++ {
	}
	if parts < 8 || m.total-before.total != 3<<20 {
		t.Errorf("%d parts, %d bytes", parts, m.total-before.total)
	}
}

// TestSharedMemoryGrowth checks that growth is measured from the least that the host had.
func TestSharedMemoryGrowth(t *testing.T) {
	f := fakeProc{t, t.TempDir()}
	var u unmappedShm
	for _, c := range []struct {
		kb   string
		want bool
	}{{"1000", false}, {"1100", false}, {"1101", true}, {"500", false}, {"700", true}} {
		f.write("meminfo", "Shmem: "+c.kb+" kB\n")
		testkit.Equal(t, fmt.Sprintf("%s kB", c.kb), u.grew(f.dir, 1000<<10, 100<<10), c.want)
	}
	f.write("meminfo", "Shmem: 500 kB\n")
	if u.asked = time.Now().Add(-2 * time.Second); !u.grew(f.dir, 1000<<10, 100<<10) || u.grew(f.dir, 1000<<10, 100<<10) {
		t.Error("what another program gave back hides what the jail took for more than a second")
	}
}
