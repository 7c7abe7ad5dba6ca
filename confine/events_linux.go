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

// eventReader reads the events that a jail's init writes to its pipe. Two goroutines read: the
// one that owns the init, as soon as there is an event, and the callers of drain. An event that
// the init writes before it answers a call can be read before the server sees the answer.
type eventReader struct {
	conn    syscall.RawConn
	onEvent func(spec.Event)

	mu   sync.Mutex
	rest []byte // of an incomplete event
	err  error  // why there are no more events
}

func newEventReader(pipe *os.File, hear func(spec.Event)) (*eventReader, error) {
	conn, err := pipe.SyscallConn()
	return &eventReader{conn: conn, onEvent: hear}, err
}

// run handles events until there are no more, and returns why. It blocks its own thread,
// which is faster than waiting for the runtime's poller.
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

// drain handles the events that are in the pipe already.
func (w *eventReader) drain() {
	w.conn.Control(func(fd uintptr) { w.readAvailable(int(fd)) })
}

// readAvailable handles the events in the pipe without waiting. w.mu lets one goroutine read.
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
