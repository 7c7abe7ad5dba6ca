package streams

import (
	"bytes"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/show"
)

const (
	maxServerStderr = 256 << 10 // of the server's stderr
	maxOwnStderr    = 64 << 10  // on top of that, for lines of mcp-jail
	MaxLine         = 4 << 10   // a longer line may be cut
	stderrPiece     = 4 << 10   // of one write, so that Close sees that the client reads
)

// Stderr is a queue that forwards to the client's stderr and never blocks its writers: some clients
// do not read their stderr, and the server must not hang. It drops whole lines that do not
// fit, and says so at the place where they are missing.
type Stderr struct {
	dst  *os.File
	fold func(text string) string // of messages; nil leaves them as they are

	mu       sync.Mutex
	filled   sync.Cond
	buf      []byte
	midline  bool // the last byte that was queued is not a newline
	skipping bool // the rest of the current line is dropped
	dropped  int  // lines that noteDropped has not reported yet
	closed   bool

	written atomic.Int64  // bytes that the client's stderr took
	done    chan struct{} // closed when the forwarding goroutine has ended
}

// NewStderr returns a queue for the client's stderr. [Stderr.Close] ends it.
func NewStderr(dst *os.File, fold func(text string) string) *Stderr {
	q := &Stderr{dst: dst, fold: fold, done: make(chan struct{})}
	q.filled.L = &q.mu
	go q.forward()
	return q
}

// Write takes a piece of the server's stderr. It never blocks and never fails.
func (q *Stderr) Write(p []byte) (int, error) {
	n := len(p)
	q.mu.Lock()
	defer q.mu.Unlock()
	// The line began in an earlier piece, and was dropped there.
	if q.skipping {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			return n, nil
		}
		p = p[i+1:]
		q.skipping = false
	}
	var rest []byte
	if room := max(maxServerStderr-len(q.buf), 0); len(p) > room {
		// Whole lines only: a half one could be taken for another.
		keep := bytes.LastIndexByte(p[:room], '\n') + 1
		if end := bytes.IndexByte(p, '\n') + 1; keep == 0 && q.midline && end > 0 && end < MaxLine {
			keep = end // the rest of a line whose start was queued
		}
		p, rest = p[:keep], p[keep:]
	}
	if len(p) > 0 {
		q.noteDropped()
		q.append(p)
	}
	if len(rest) > 0 {
		q.dropped += bytes.Count(rest, []byte{'\n'})
		if rest[len(rest)-1] != '\n' {
			q.dropped++
			q.skipping = true
		}
	}
	return n, nil
}

// SayLine queues one line of mcp-jail: no text in it can begin another.
func (q *Stderr) SayLine(line string) { q.Say("mcp-jail: " + show.Line(line) + "\n") }

// Say queues lines of mcp-jail that package diagnostics has written.
func (q *Stderr) Say(text string) {
	if text == "" {
		return
	}
	text = show.Screen(text)
	if q.fold != nil {
		text = q.fold(text)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.buf)+len(text) > maxServerStderr+maxOwnStderr {
		return
	}
	q.noteDropped()
	if q.midline {
		q.append([]byte{'\n'})
	}
	q.append([]byte(text))
}

func (q *Stderr) noteDropped() {
	if q.dropped == 0 {
		return
	}
	n := q.dropped
	q.dropped = 0
	if q.midline {
		q.append([]byte{'\n'})
	}
	q.append(fmt.Appendf(nil, "mcp-jail: %d lines of the server's stderr were dropped here, because the client did not read them\n", n))
}

func (q *Stderr) append(p []byte) {
	if len(p) == 0 {
		return
	}
	q.buf = append(q.buf, p...)
	q.midline = p[len(p)-1] != '\n'
	q.filled.Signal()
}

func (q *Stderr) forward() {
	defer close(q.done)
	var out []byte
	broken := false
	for {
		q.mu.Lock()
		for len(q.buf) == 0 && !q.closed {
			q.filled.Wait()
		}
		if len(q.buf) == 0 {
			q.mu.Unlock()
			return
		}
		out, q.buf = q.buf, out[:0]
		q.mu.Unlock()
		for rest := out; len(rest) > 0 && !broken; {
			n, err := Blocking{q.dst}.Write(rest[:min(stderrPiece, len(rest))])
			q.written.Add(int64(n))
			// After a failed write the rest is discarded.
			rest, broken = rest[n:], err != nil
		}
	}
}

// Close writes the rest of the queue. It gives up when the client has read nothing within idle, and
// after total.
func (q *Stderr) Close(idle, total time.Duration) {
	q.mu.Lock()
	q.noteDropped()
	q.closed = true
	q.filled.Signal()
	q.mu.Unlock()
	end := time.Now().Add(total)
	// Goes on while the client reads.
	for before := int64(-1); q.read() != before && time.Now().Before(end); {
		before = q.read()
		select {
		case <-q.done:
			return
		case <-time.After(min(idle, time.Until(end))):
		}
	}
	WaitOrInterrupt(q.done, func() func() {
		q.dst.SetWriteDeadline(time.Now())
		return func() { q.dst.SetWriteDeadline(time.Time{}) }
	})
}

// read returns how many bytes the client has read. Where the kernel does not say what is left in
// the pipe, that is how many it has room for.
func (q *Stderr) read() int64 { return q.written.Load() - int64(UnreadBytes(q.dst)) }

// WaitOrInterrupt calls interrupt unless done is closed, and then waits a moment for done.
func WaitOrInterrupt(done <-chan struct{}, interrupt func() (restore func())) {
	select {
	case <-done:
		return
	default:
	}
	defer interrupt()()
	select {
	case <-done:
	case <-time.After(50 * time.Millisecond):
	}
}
