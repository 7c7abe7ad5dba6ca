package reported

import (
	"io"
	"os"
	"sync"
	"syscall"

	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/step"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"golang.org/x/sys/unix"
)

// Reader reads the events that a jail's supervisor writes: to a socket with namespaces,
// and to a pipe without. The goroutine of Run reads as soon as there is an event. The callers of
// Drain read too: the supervisor writes the event of a refusal before it answers the call, so
// Drain finds the event of each answer that the server has seen.
type Reader struct {
	conn    syscall.RawConn
	onEvent func(spec.Event)

	mu   sync.Mutex
	rest []byte // of an incomplete event
	err  error  // why there are no more events
}

// NewReader returns a reader that calls hear for each event.
func NewReader(pipe *os.File, hear func(spec.Event)) (*Reader, error) {
	conn, err := pipe.SyscallConn()
	return &Reader{conn: conn, onEvent: hear}, err
}

// Run handles events until there are no more, and returns why. It blocks its own thread,
// which is faster than waiting for the runtime's poller.
func (r *Reader) Run() error {
	for {
		err := r.conn.Control(func(fd uintptr) {
			sys.WaitReadable(int(fd), -1)
			r.readAvailable(int(fd))
		})
		r.mu.Lock()
		if r.err != nil {
			err = r.err
		}
		r.mu.Unlock()
		if err != nil {
			return err
		}
	}
}

// Drain handles the events that are there.
func (r *Reader) Drain() {
	r.conn.Control(func(fd uintptr) { r.readAvailable(int(fd)) })
}

// Failure returns the error of a start that failed with err: the step that the supervisor has
// reported, if it has given up and so ended the process that was to execute the program. A
// supervisor reports before it ends a process.
func Failure(pipe *os.File, err error) error {
	r, noReader := NewReader(pipe, func(m spec.Event) {
		if m.Kind == spec.EventFailed {
			err = &step.Error{Step: m.Step, Errno: syscall.Errno(m.Num), Detail: m.Detail}
		}
	})
	if noReader == nil {
		r.Drain()
	}
	return err
}

// readAvailable handles the events in the pipe without waiting. r.mu lets one goroutine read
// at a time.
func (r *Reader) readAvailable(fd int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.err == nil && sys.WaitReadable(fd, 0) {
		var chunk [4096]byte
		n, err := unix.Read(fd, chunk[:])
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			r.err = err
		case n == 0:
			r.err = io.EOF
		default:
			r.rest = append(r.rest, chunk[:n]...)
			r.parse()
		}
	}
}

func (r *Reader) parse() {
	for r.err == nil {
		m, rest, err := spec.NextEvent(r.rest)
		if err == io.ErrUnexpectedEOF {
			return
		}
		if r.err = err; err == nil {
			r.rest = rest
			r.onEvent(m)
		}
	}
}
