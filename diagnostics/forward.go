package diagnostics

import (
	"bytes"
	"io"
	"strings"
)

// Forward passes a server's stderr on to where people read it, line by line: as
// it is, but for the values of secret variables, and for lines that could be
// taken for mcp-jail's own. Such a line is quoted,
//
//	server said: "mcp-jail: the jail is broken"
//
// and of one with escape sequences other than colours, which on a terminal could
// put text anywhere, the sequences are dropped. A line is passed on when it is
// complete, or longer than 64 KiB; a carriage return completes one too.
//
// It is not safe for concurrent use.
type Forward struct {
	to     io.Writer
	redact *Redactor
	line   []byte
}

// NewForward returns a Forward to a writer; r may be nil.
func NewForward(to io.Writer, r *Redactor) *Forward { return &Forward{to: to, redact: r} }

// Write implements io.Writer. It takes everything; the error is the writer's.
func (f *Forward) Write(p []byte) (int, error) {
	var out []byte
	for rest := p; len(rest) > 0; {
		end := bytes.IndexAny(rest, "\r\n") + 1
		if end == 0 {
			f.line = append(f.line, rest...)
			if len(f.line) < tailBytes {
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
	_, err := f.to.Write(out)
	return len(p), err
}

// Flush passes on what is not a complete line yet.
func (f *Forward) Flush() error {
	if len(f.line) == 0 {
		return nil
	}
	_, err := f.to.Write(f.appendLine(nil))
	return err
}

func (f *Forward) appendLine(out []byte) []byte {
	line := f.redact.Redact(string(f.line))
	f.line = f.line[:0]
	text := strings.TrimRight(line, "\r\n")
	switch shown := clean(text); {
	case strings.Contains(strings.ToLower(shown), ownPrefix):
		line = "server said: " + quote(text) + "\n"
	case movesCursor(text):
		line = shown + line[len(text):]
	}
	return append(out, line...)
}

// ownPrefix is what every line of mcp-jail's own begins with.
const ownPrefix = "mcp-jail:"

// movesCursor tells whether s has an escape sequence that is no colour ("select
// graphic rendition", ECMA-48 8.3.117), or another control that moves text.
func movesCursor(s string) bool {
	for i := 0; i < len(s); i++ {
		n := escapeLen(s[i:])
		if n == 0 {
			if s[i] == '\b' || s[i] == '\v' || s[i] == '\f' {
				return true
			}
			continue
		}
		if seq := s[i : i+n]; seq[n-1] != 'm' || !strings.HasPrefix(seq, "\x1b[") || strings.Trim(seq[2:n-1], "0123456789;:") != "" {
			return true
		}
		i += n - 1
	}
	return false
}
