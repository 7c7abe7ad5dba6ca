package stateful

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/sessiontest"
)

// TestLargeAnswerPipe: the client's pipe grows with the first large answer, as far as the kernel lets
// this user enlarge a pipe. One that is larger already stays as it is.
func TestLargeAnswerPipe(t *testing.T) {
	t.Parallel()
	const ordinary, large = 64 << 10, 1 << 20
	r, w, err := os.Pipe()
	testkit.Must(t, err)
	defer r.Close()
	defer w.Close()
	grown := resized(t, r, large)
	for _, c := range []struct{ before, text, after int }{{ordinary, 2 * ordinary, ordinary}, {ordinary, 8 * ordinary, grown}, {2 * large, 8 * ordinary, 0}} {
		p := begin(t, &sessiontest.Fake{Server: "menu"}, nil)
		before := resized(t, p.Out, c.before)
		if c.after == 0 {
			c.after = max(before, grown)
		}
		p.Send(sessiontest.ListOf("1", `raw {"jsonrpc":"2.0","id":ID,"result":{"tools":[],"x":"`+strings.Repeat("a", c.text)+`"}}`))
		if got := p.Line(); len(got) < c.text {
			t.Errorf("an answer of %d bytes: %.200q", c.text, got)
		}
		if got := resized(t, p.Out, 0); got != c.after {
			t.Errorf("a pipe of %d bytes has %d after an answer of %d, not %d", before, got, c.text, c.after)
		}
		p.Close()
	}
}

// resized sets the size of a pipe, if it is not 0 and the kernel allows it, and returns the size that
// the pipe has. The file keeps its mode, unlike after Fd.
func resized(t *testing.T, f *os.File, size int) (now int) {
	t.Helper()
	c, err := f.SyscallConn()
	if err == nil {
		err = c.Control(func(fd uintptr) {
			if size > 0 {
				unix.FcntlInt(fd, unix.F_SETPIPE_SZ, size)
			}
			now, err = unix.FcntlInt(fd, unix.F_GETPIPE_SZ, 0)
		})
	}
	testkit.Must(t, err)
	return now
}
