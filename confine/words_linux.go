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

// words are what a jail's init says on its pipe. Two read it: the thread that owns
// the init, as soon as there is something, and whoever wants to know all that was
// said by now. What the init says before it answers a call of the server is there
// before the server can tell of it.
type words struct {
	conn syscall.RawConn
	hear func(spec.Message)

	mu   sync.Mutex
	left []byte // of a message that is not complete
	err  error  // why there will be no more
}

func newWords(pipe *os.File, hear func(spec.Message)) (*words, error) {
	conn, err := pipe.SyscallConn()
	return &words{conn: conn, hear: hear}, err
}

// listen hears messages until there are no more, and returns why. It waits on its
// thread, which is its own: the runtime's poller would have to hand over to it.
func (w *words) listen() error {
	for {
		err := w.conn.Control(func(fd uintptr) {
			sys.WaitReadable(int(fd), -1)
			w.pull(int(fd))
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

// catchUp hears what was said already.
func (w *words) catchUp() {
	w.conn.Control(func(fd uintptr) { w.pull(int(fd)) })
}

// pull hears what lies in the pipe, without waiting. There is nobody else who reads.
func (w *words) pull(fd int) {
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
			w.left = append(w.left, chunk[:n]...)
			w.parse()
		}
	}
}

func (w *words) parse() {
	for w.err == nil {
		m, rest, err := spec.NextMessage(w.left)
		if err == io.ErrUnexpectedEOF {
			return
		}
		if w.err = err; err == nil {
			w.left = rest
			w.hear(m)
		}
	}
}
