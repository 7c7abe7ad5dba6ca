package supervisor

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestRecordLocks checks that the record locks of this process count, and those of others not.
// The kernel gives the list in pieces: a lock that another process takes between two of them
// moves the list, so that a line can come twice or not at all.
func TestRecordLocks(t *testing.T) {
	f := testkit.Get(os.CreateTemp(t.TempDir(), "locks"))(t)
	defer f.Close()
	const n = 3000
	for i := range int64(n) {
		testkit.Must(t, unix.FcntlFlock(f.Fd(), unix.F_SETLK, &unix.Flock_t{Type: unix.F_WRLCK, Start: 2 * i, Len: 1}))
	}
	self := strconv.Itoa(os.Getpid())
	if got := recordLocks("/proc", []string{self}); got < n*9/10 || got > n*11/10 {
		t.Errorf("%d locks, want about %d", got, n)
	}
	testkit.Equal(t, "locks of no process", recordLocks("/proc", []string{"1x"}), 0)
}

// TestRecordLocksCount checks that record locks count as memory, and that too many end a jail
// with any memory limit.
func TestRecordLocksCount(t *testing.T) {
	line := func(i int, pid string) string {
		return fmt.Sprintf("%d: POSIX  ADVISORY  WRITE %s fe:00:1 %d %d\n", i, pid, i, i)
	}
	for _, c := range testkit.Table[struct {
		limit int64 // in MB
		locks int
		pid   string
		over  bool
	}](t, "record-locks-count.txt") {
		w, f := watch(t, c.limit)
		w.Locks = true
		f.set("4", 1, 1)
		var b strings.Builder
		for i := range c.locks {
			b.WriteString(line(i, c.pid))
		}
		f.write("locks", b.String())
		if over, _, err := w.Sample(); over != c.over || err != nil {
			t.Errorf("%d locks of %s, limit %d: %v, %v", c.locks, c.pid, c.limit, over, err)
		}
	}
}
