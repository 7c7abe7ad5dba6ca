package streams

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestLarge: a pipe is enlarged for large frames, as far as the kernel lets this user, and gives the memory back.
func TestLarge(t *testing.T) {
	r, w, err := os.Pipe()
	testkit.Must(t, err)
	defer r.Close()
	defer w.Close()
	size := func() (size int) {
		c, err := r.SyscallConn()
		testkit.Must(t, err)
		testkit.Must(t, c.Control(func(fd uintptr) { size, err = unix.FcntlInt(fd, unix.F_GETPIPE_SZ, 0) }))
		testkit.Must(t, err)
		return size
	}
	Enlarge(r, serverPipe)
	before := size()
	d := drainable{File: r}
	if d.Large(true); size() < before {
		t.Errorf("a pipe of %d bytes has %d for large frames", before, size())
	}
	if d.Large(false); size() != before {
		t.Errorf("a pipe of %d bytes has %d after large frames", before, size())
	}
}
