package redact

import (
	"bytes"
	"io"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
)

// StderrFilter copies a server's stderr line by line to a writer that people read. It
// replaces the values of secret variables. It quotes lines that could be mistaken for
// mcp-jail's own:
//
//	server said: "mcp-jail: the jail is broken"
//
// In a line with escape sequences other than colours, or with invisible or reversing
// characters, it removes the sequences and makes the characters visible, because on a
// terminal they could place text anywhere. A line is copied when it is complete or longer
// than 64 KiB. A carriage return completes a line too. Text that would overwrite part of a
// line, so that both together look like mcp-jail's own, starts on a new line.
//
// It is not safe for concurrent use.
type StderrFilter struct {
	dst    io.Writer
	redact *Redactor
	line   []byte
	row    show.Row
	tail   string // the end of an unfinished line that was too long to hold
}

// NewStderrFilter returns a StderrFilter that writes to a writer. r may be nil.
func NewStderrFilter(to io.Writer, r *Redactor) *StderrFilter {
	return &StderrFilter{dst: to, redact: r}
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

// Flush copies an incomplete last line.
func (f *StderrFilter) Flush() error {
	if len(f.line) == 0 {
		return nil
	}
	_, err := f.dst.Write(f.appendLine(nil))
	return err
}

func (f *StderrFilter) appendLine(out []byte) []byte {
	line := f.redact.Redact(string(f.line))
	f.line = f.line[:0]
	text := strings.TrimRight(line, "\r\n")
	// What looks like mcp-jail's own line is quoted whole, what moves the cursor is made visible.
	said := show.Imitates(text)
	switch {
	case said:
		line = "server said: " + show.Quote(show.Bare(text)) + "\n"
	case !show.Passes(text):
		line = show.Line(show.Bare(text)) + line[len(text):]
	}
	shown := strings.TrimRight(line, "\r\n")
	// The line may look so only together with what is on the screen's row, or with the part of a
	// long line that was copied before.
	if !said && (f.row.WouldImitate(shown) || f.tail != "" && show.Imitates(f.tail+shown)) {
		out = append(out, '\n')
		f.row.Clear()
	}
	f.tail = ""
	if strings.HasSuffix(line, "\n") {
		f.row.Clear()
	} else {
		if shown == line {
			f.tail = shown[max(0, len(shown)-256):]
		}
		f.row.Write(shown)
		if strings.HasSuffix(line, "\r") {
			f.row.Return()
		}
	}
	return append(out, line...)
}
