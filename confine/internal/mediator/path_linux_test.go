package mediator

import (
	"os"
	"strconv"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestMagicLinksOfOthers: a magic link is followed for the process that it belongs to, and for no other one,
// also if the number of that one begins with the same digits.
func TestMagicLinksOfOthers(t *testing.T) {
	own := os.Getpid()
	dir := testkit.Get(unix.Open("/proc/"+strconv.Itoa(own), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0))(t)
	defer unix.Close(dir)
	follow := func(dir int, name string) (int, syscall.Errno) {
		fd, err := unix.Openat(dir, name, unix.O_PATH|unix.O_CLOEXEC, 0)
		return fd, sys.ErrnoOrEIO(err)
	}
	for _, c := range []struct {
		what   string
		caller int
		want   syscall.Errno
	}{
		{"its own", own, 0},
		{"of another process", own + 1, unix.EACCES},
		{"of one whose number is longer", own / 10, unix.EACCES},
	} {
		w := resolver{process: func() int { return c.caller }, open: follow}
		fd, errno := w.followMagicLink(dir, "cwd")
		if errno == 0 {
			unix.Close(fd)
		}
		testkit.Equal(t, c.what, errno, c.want)
	}
}
