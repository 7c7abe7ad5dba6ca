package redact

import (
	"bytes"
	"slices"
	"sync"
	"time"
)

const (
	TailBytes = 64 << 10 // bytes that a Tail keeps, with line ends
	lineBytes = 4 << 10  // bytes after which a line is cut
)

// Tail keeps the end of a server's stderr: the last 64 KiB in lines of at most 4 KiB. It is an
// io.Writer that never fails and is safe for concurrent use. The zero Tail redacts nothing.
//
// Apart from that, lines are kept as the server wrote them. Diagnose sanitizes them.
type Tail struct {
	mu     sync.Mutex
	redact *Redactor
	text   ring
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
	t.text.write(p)
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
	return t.text.lineCount
}

// Lines returns the last n lines without secret values, oldest first, with an unfinished last one,
// or all lines when n is negative.
func (t *Tail) Lines(n int) []string {
	lines, unfinished := t.last(n)
	return t.shown(lines, unfinished)
}

func (t *Tail) shown(lines []string, unfinished bool) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		if len(line) == lineBytes || unfinished && i == len(lines)-1 {
			out[i] = t.redact.unfinished(line) // the rest is cut off, or not there yet
		} else {
			out[i] = t.redact.Redact(line)
		}
	}
	return out
}

// RawLines returns the same lines unredacted: see Evidence.RawStderr.
func (t *Tail) RawLines(n int) []string {
	lines, _ := t.last(n)
	return lines
}

// Since returns the lines that were written since a time, after at most n earlier ones, as Lines and
// RawLines do. earlier is how many of them were written before. A zero time is before all lines.
func (t *Tail) Since(since time.Time, n int) (shown, raw []string, earlier int) {
	t.mu.Lock()
	newer := len(t.text.lines) - t.text.before(since)
	if len(t.text.line) > 0 {
		newer++
	}
	t.mu.Unlock()
	raw, unfinished := t.last(newer + n)
	return t.shown(raw, unfinished), raw, max(0, len(raw)-newer)
}

// last returns the last n lines, or all when n is negative, and whether the last one is unfinished.
func (t *Tail) last(n int) (lines []string, unfinished bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := slices.Clone(t.text.lines)
	unfinished = len(t.text.line) > 0
	if unfinished {
		all = append(all, string(t.text.line))
	}
	if n >= 0 && len(all) > n {
		all = all[len(all)-n:]
	}
	return all, unfinished
}

// before returns the number of lines that ended before a time.
func (t *ring) before(since time.Time) int {
	at, _ := slices.BinarySearchFunc(t.times, since, time.Time.Compare)
	return at
}
