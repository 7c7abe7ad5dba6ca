package confine

import (
	"io"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// words are what a jail's init says on its pipe. Two read it: the thread that owns
// the init, as soon as there is something, and whoever wants to know all that was
// said by now. What the init says before it answers a call of the server is there
// before the server can tell of it.
type words struct {
	conn syscall.RawConn
	hear func(message)

	mu   sync.Mutex
	left []byte // of a message that is not complete
	err  error  // why there will be no more
}

func newWords(pipe *os.File, hear func(message)) (*words, error) {
	conn, err := pipe.SyscallConn()
	return &words{conn: conn, hear: hear}, err
}

// listen hears messages until there are no more, and returns why.
func (w *words) listen() error {
	for {
		err := w.conn.Read(func(fd uintptr) bool { return w.pull(int(fd)) })
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

// pull hears what lies in the pipe, without waiting; false if that is nothing.
func (w *words) pull(fd int) (heard bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.err == nil {
		var chunk [4096]byte
		n, err := unix.Read(fd, chunk[:])
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EAGAIN:
			return heard
		case err != nil:
			w.err = err
		case n == 0:
			w.err = io.EOF
		default:
			heard = true
			w.left = append(w.left, chunk[:n]...)
			w.parse()
		}
	}
	return true
}

func (w *words) parse() {
	for w.err == nil {
		m, rest, err := nextMessage(w.left)
		if err == io.ErrUnexpectedEOF {
			return
		}
		if w.err = err; err == nil {
			w.left = rest
			w.hear(m)
		}
	}
}
