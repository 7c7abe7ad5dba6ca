package diagnostics

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/leak"
)

const (
	TailBytes = 64 << 10 // bytes that a Tail keeps, with line ends
	lineBytes = 4 << 10  // bytes after which a line is cut
)

// Tail keeps the end of a server's stderr: the last 64 KiB in lines of at most 4 KiB. It is an
// io.Writer that never fails and is safe for concurrent use. The zero Tail redacts nothing.
//
// Apart from that, lines are kept as the server wrote them. A diagnosis sanitizes them.
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
			out[i] = t.redact.Unfinished(line) // the rest is cut off, or not there yet
		} else {
			out[i] = t.redact.Redact(line)
		}
	}
	return out
}

// Since returns the lines that were written since a time, after at most n earlier ones: as Lines does, and unredacted for
// Evidence.RawStderr. earlier is how many of them were written before. A zero time is before all lines.
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

// minSecret is the length of the shortest value that is redacted. Shorter values ("true",
// "8080", "debug") occur in many lines, and a secret of five bytes protects nothing.
const minSecret = 6

// Redactor replaces the values of secret variables by "[redacted NAME]". A nil Redactor
// changes nothing. It is safe for concurrent use.
//
// A Redactor finds a value in the forms of package leak, and the parts of a value that are secret
// alone: see leak.Parts. It finds them in small letters too. Values under 6 bytes are not redacted,
// nor values that are clearly not secret: see leak.IsPlainValue. Redaction keeps accidents out of
// logs and does not stop a server that wants to disclose a value.
type Redactor struct {
	searcher func() *leak.Searcher // nil in the zero Redactor, which must not pass a text on as redacted: it panics
}

// NewRedactor returns a Redactor of the variables of env that are marked Secret.
func NewRedactor(env []policy.Variable) *Redactor {
	var secrets []leak.Secret
	for _, v := range env {
		if !v.Secret || leak.IsPlainHost(v.Name, v.Value) || leak.IsPlainValue(v.Value) {
			continue
		}
		for _, part := range leak.Parts(v.Value) {
			if len(part) < minSecret {
				continue
			}
			secrets = append(secrets, leak.Secret{Name: v.Name, Value: part})
			if small := strings.ToLower(part); small != part { // as a label of a host's name
				secrets = append(secrets, leak.Secret{Name: v.Name, Value: small})
			}
		}
	}
	// The first text makes the searcher, so that no start waits for it.
	return &Redactor{sync.OnceValue(func() *leak.Searcher { return leak.New(secrets, false) })}
}

// Redact returns s without the secret values.
func (r *Redactor) Redact(s string) string {
	if r == nil {
		return s
	}
	return r.searcher().Replace(s, func(name string, _ int) string { return redacted(name) })
}

func redacted(name string) string { return "[redacted " + name + "]" }

// Unfinished is Redact for a text that may go on. If its end is the beginning of a secret, and long
// enough to reveal something, that is replaced as well.
func (r *Redactor) Unfinished(s string) string {
	s = r.Redact(s)
	if r == nil {
		return s
	}
	if name, n := r.searcher().Begun(s); n >= minSecret {
		return s[:len(s)-n] + redacted(name)
	}
	return s
}

// Lines returns lines without secret values.
func (r *Redactor) Lines(lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = r.Redact(l)
	}
	return out
}

// RedactDenials returns denials without secret values. A server can put them into the
// names that it uses.
func (r *Redactor) RedactDenials(denials []policy.Denial) []policy.Denial {
	out := make([]policy.Denial, len(denials))
	for i, d := range denials {
		d.Target, d.Program, d.Detail = r.Redact(d.Target), r.Redact(d.Program), r.Redact(d.Detail)
		d.Arguments = slices.Clone(d.Arguments)
		for k, arg := range d.Arguments {
			d.Arguments[k] = r.Redact(arg)
		}
		out[i] = d
	}
	return out
}

// StderrFilter copies a server's stderr line by line to a writer that people read. It
// replaces the values of secret variables. For a pipe it quotes lines that begin as those of
// mcp-jail do:
//
//	server said: "mcp-jail: the jail is broken"
//
// In a line with escape sequences other than colours, or with invisible or reversing
// characters, it removes the sequences and makes the characters visible. Other lines pass as
// they are. For a terminal it writes rows behind a bar instead: see [show.Rows].
//
// A line is copied when it is complete or longer than 64 KiB. A carriage return completes a
// line too.
//
// It is not safe for concurrent use.
type StderrFilter struct {
	dst    io.Writer
	redact *Redactor
	rows   func(line string) string
	line   []byte
}

// NewStderrFilter returns a StderrFilter that writes to a writer. r may be nil. rows returns a line as
// the rows of a terminal. It is nil for a pipe.
func NewStderrFilter(to io.Writer, r *Redactor, rows func(line string) string) *StderrFilter {
	return &StderrFilter{dst: to, redact: r, rows: rows}
}

// Write implements io.Writer. It accepts all of p. It returns the writer's error.
func (f *StderrFilter) Write(p []byte) (int, error) {
	var out []byte
	for rest := p; len(rest) > 0; {
		end := bytes.IndexAny(rest, "\r\n") + 1
		if end == 0 {
			f.line = append(f.line, rest...)
			if len(f.line) < TailBytes {
				break
			}
			rest = nil
		} else {
			f.line = append(f.line, rest[:end]...)
			rest = rest[end:]
		}
		out = f.appendLine(out)
	}
	if len(out) == 0 {
		return len(p), nil
	}
	_, err := f.dst.Write(out)
	return len(p), err
}

// Flush copies an incomplete last line, and ends it: what another server writes next begins a line.
func (f *StderrFilter) Flush() error {
	if len(f.line) == 0 {
		return nil
	}
	f.line = append(f.line, '\n')
	_, err := f.dst.Write(f.appendLine(nil))
	return err
}

func (f *StderrFilter) appendLine(out []byte) []byte {
	line := f.redact.Redact(string(f.line))
	f.line = f.line[:0]
	text := strings.TrimRight(line, "\r\n")
	end := line[len(text):]
	switch {
	case f.rows != nil:
		if text != "" {
			text = f.rows(show.Bare(text))
		}
		if end == "" { // what comes next begins another row
			end = "\n"
		}
	case show.Imitates(text):
		text, end = "server said: "+show.Quote(show.Bare(text)), "\n"
	case !show.Passes(text):
		text = show.Line(show.Bare(text))
	}
	return append(append(out, text...), end...)
}
