package redact

import (
	"bytes"
	"slices"
	"sync"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/show"
)

const (
	TailBytes = 64 << 10 // bytes that a Tail keeps, with line ends
	lineBytes = 4 << 10  // bytes after which a line is cut
)

// Tail keeps the end of a server's stderr: the last 64 KiB in lines of at most 4 KiB,
// redacted, and beside them the same lines unredacted. It is an io.Writer that never fails
// and is safe for concurrent use. The zero Tail redacts nothing.
//
// Apart from that, lines are kept as the server wrote them. Diagnose sanitizes them.
type Tail struct {
	mu      sync.Mutex
	redact  *Redactor
	pending []byte // end of the input that may be the beginning of a secret
	shown   ring
	raw     ring // unused while the Redactor has no values
}

// ring is the end of a text, in lines.
type ring struct {
	line      []byte // the unfinished line, at most lineBytes
	cr        bool   // the last byte was a carriage return, so a newline that follows belongs to it
	lines     []string
	times     []time.Time // when each of lines ended
	size      int         // bytes of lines, plus one for each
	lineCount int         // number of lines that have ended
}

// NewTail returns a Tail that redacts with r, which may be nil.
func NewTail(r *Redactor) *Tail { return &Tail{redact: r} }

// Write implements io.Writer. It accepts all of p.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.redact.isActive() {
		t.shown.write(p)
		return len(p), nil
	}
	t.raw.write(p)
	// A secret may be split over two writes, so its possible first part is held back.
	out, rest := t.redact.scan(nil, append(t.pending, p...), false)
	t.pending = append([]byte(nil), rest...)
	t.shown.write(out)
	return len(p), nil
}

// write cuts p into lines. A carriage return also ends a line, so each state of a progress
// display is a line.
func (t *ring) write(p []byte) {
	now := time.Now()
	for len(p) > 0 {
		if t.cr {
			t.cr = false
			if p[0] == '\n' {
				p = p[1:]
				continue
			}
		}
		end := bytes.IndexAny(p, "\r\n")
		part := p
		if end >= 0 {
			part = p[:end]
		}
		if room := lineBytes - len(t.line); len(part) > room {
			part = part[:room]
		}
		t.line = append(t.line, part...)
		if end < 0 {
			return
		}
		t.cr = p[end] == '\r'
		p = p[end+1:]
		t.push(string(t.line), now)
		t.line = t.line[:0]
	}
}

func (t *ring) push(line string, now time.Time) {
	t.lines = append(t.lines, line)
	t.times = append(t.times, now)
	t.lineCount++
	t.size += len(line) + 1
	drop := 0 // lines that no longer fit
	for t.size > TailBytes {
		t.size -= len(t.lines[drop]) + 1
		t.lines[drop] = ""
		drop++
	}
	t.lines, t.times = t.lines[drop:], t.times[drop:]
}

// LineCount returns the number of lines that have ended so far.
func (t *Tail) LineCount() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.shown.lineCount
}

// Lines returns the last n lines, oldest first, with an unfinished last one, or all lines
// when n is negative.
func (t *Tail) Lines(n int) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	more := ""
	if len(t.pending) > 0 {
		more = t.redact.partial(t.pending)
	}
	return t.shown.last(n, more)
}

// RawLines returns the same lines unredacted: see Evidence.RawStderr.
func (t *Tail) RawLines(n int) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.redact.isActive() {
		return t.shown.last(n, "")
	}
	return t.raw.last(n, "")
}

// Since returns the lines that were written since a time, after at most n earlier ones, as Lines and
// RawLines do. earlier is how many of them were written before. A zero time is before all lines.
func (t *Tail) Since(since time.Time, n int) (shown, raw []string, earlier int) {
	t.mu.Lock()
	newer := len(t.shown.lines) - t.shown.before(since)
	if len(t.shown.line)+len(t.pending) > 0 {
		newer++
	}
	t.mu.Unlock()
	shown, raw = t.Lines(newer+n), t.RawLines(newer+n)
	return shown, raw, max(0, len(shown)-newer)
}

// before returns the number of lines that ended before a time.
func (t *ring) before(since time.Time) int {
	at, _ := slices.BinarySearchFunc(t.times, since, time.Time.Compare)
	return at
}

func (t *ring) last(n int, more string) []string {
	all := append([]string(nil), t.lines...)
	if last := string(t.line) + more; last != "" {
		all = append(all, show.Cut(last, lineBytes))
	}
	if n >= 0 && len(all) > n {
		all = all[len(all)-n:]
	}
	return all
}
