package confine

import (
	"io"
	"os"
	"sync"
	"syscall"

	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"golang.org/x/sys/unix"
)

// eventReader are what a jail's init says on its pipe. Two read it: the thread that owns
// the init, as soon as there is something, and whoever wants to know all that was
// said by now. What the init says before it answers a call of the server is there
// before the server can tell of it.
type eventReader struct {
	conn    syscall.RawConn
	onEvent func(spec.Event)

	mu   sync.Mutex
	rest []byte // of a message that is not complete
	err  error  // why there will be no more
}

func newEventReader(pipe *os.File, hear func(spec.Event)) (*eventReader, error) {
	conn, err := pipe.SyscallConn()
	return &eventReader{conn: conn, onEvent: hear}, err
}

// run hears messages until there are no more, and returns why. It waits on its
// thread, which is its own: the runtime's poller would have to hand over to it.
func (w *eventReader) run() error {
	for {
		err := w.conn.Control(func(fd uintptr) {
			sys.WaitReadable(int(fd), -1)
			w.readAvailable(int(fd))
		})
		w.mu.Lock()
		if w.err != nil {
			err = w.err
		}
		w.mu.Unlock()
		if err != nil {
			return err
		}
	}
}

// drain hears what was said already.
func (w *eventReader) drain() {
	w.conn.Control(func(fd uintptr) { w.readAvailable(int(fd)) })
}

// readAvailable hears what lies in the pipe, without waiting. There is nobody else who reads.
func (w *eventReader) readAvailable(fd int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.err == nil && sys.WaitReadable(fd, 0) {
		var chunk [4096]byte
		n, err := unix.Read(fd, chunk[:])
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			w.err = err
		case n == 0:
			w.err = io.EOF
		default:
			w.rest = append(w.rest, chunk[:n]...)
			w.parse()
		}
	}
}

func (w *eventReader) parse() {
	for w.err == nil {
		m, rest, err := spec.NextEvent(w.rest)
		if err == io.ErrUnexpectedEOF {
			return
		}
		if w.err = err; err == nil {
			w.rest = rest
			w.onEvent(m)
		}
	}
}
