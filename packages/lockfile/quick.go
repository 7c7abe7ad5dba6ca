package lockfile

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"
)

// quick finds the section of one entry by its headings. ok is false if a line is not as
// Encode writes it, and another reading of the file is possible. n is nil if the file has no
// such section.
//
// For a file that the full parser accepts, quick gives the same answer:
//   - No line lies in a string of several lines, because the file has none. No element of an
//     array is written like a heading, so every line that begins like one is one.
//   - Every heading begins with an ecosystem and a spec in basic quotes without an escape.
//     So no other spelling of this section's name exists, and none of its parent.
//   - In front of the first heading stand only comments and the version.
func quick(data []byte, key Key) (n *node, ok bool) {
	start := []byte(heading(key))
	if bytes.IndexByte(start, '\\') >= 0 || bytes.Contains(data, []byte(`"""`)) || bytes.Contains(data, []byte("'''")) {
		return nil, false
	}
	var at *node // the table whose lines are read; nil in other sections
	headings, version := 0, false
	for line := 1; len(data) > 0; line++ {
		var text []byte
		if i := bytes.IndexByte(data, '\n'); i >= 0 {
			text, data = data[:i], data[i+1:]
		} else {
			return nil, false
		}
		switch {
		case len(text) == 0 || text[0] == '#':
		case text[0] == '[':
			headings++
			switch {
			case bytes.HasPrefix(text, start) && len(text) > len(start):
				if n == nil {
					n = newTable(line)
				}
				if at = n.open(text[len(start):], line); at == nil {
					return nil, false
				}
			case isForeignHeading(text):
				at = nil
			default:
				return nil, false
			}
		case headings == 0:
			if version || string(text) != "version = 1" && string(text) != "version = 2" {
				return nil, false
			}
			version = true
		case !isBare(text[0]) && text[0] != '"':
			return nil, false
		case at != nil:
			l := &lineReader{in: text, line: line}
			if !l.pair(at) || len(l.in) > 0 {
				return nil, false
			}
		}
	}
	return n, version
}

// isForeignHeading reports whether a line begins with an ecosystem and a quoted spec without
// an escape.
func isForeignHeading(text []byte) bool {
	for _, eco := range [...]Ecosystem{NPM, PyPI} {
		if n := len(eco); len(text) > n+3 && string(text[1:n+1]) == string(eco) && text[n+1] == '.' && text[n+2] == '"' {
			rest := text[n+3:]
			end := bytes.IndexByte(rest, '"')
			return end >= 0 && bytes.IndexByte(rest[:end], '\\') < 0 && end+1 < len(rest) && (rest[end+1] == ']' || rest[end+1] == '.')
		}
	}
	return false
}

// open makes the table of a heading. end is the part of the heading after the spec. open returns
// nil if the heading is not as Encode writes it.
func (n *node) open(end []byte, line int) *node {
	l := &lineReader{in: end, line: line}
	for l.skip(".") {
		name, ok := l.key()
		if !ok {
			return nil
		}
		next := n.table[name]
		if next == nil {
			next = newTable(line)
			n.put(name, next)
		}
		if next.kind != isTable || next.inline {
			return nil
		}
		n = next
	}
	if string(l.in) != "]" || n.header {
		return nil
	}
	n.header, n.line = true, line
	return n
}

// A lineReader reads the rest of one line.
type lineReader struct {
	in   []byte
	line int
}

func (l *lineReader) skip(what string) bool {
	if len(l.in) >= len(what) && string(l.in[:len(what)]) == what {
		l.in = l.in[len(what):]
		return true
	}
	return false
}

func isBare(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_'
}

func (l *lineReader) key() (string, bool) {
	if len(l.in) > 0 && l.in[0] == '"' {
		return l.basic()
	}
	n := 0
	for n < len(l.in) && isBare(l.in[n]) {
		n++
	}
	name := string(l.in[:n])
	l.in = l.in[n:]
	return name, n > 0
}

// pair reads a key and a value.
func (l *lineReader) pair(into *node) bool {
	name, ok := l.key()
	if !ok || !l.skip(" = ") || len(l.in) == 0 {
		return false
	}
	v := &node{line: l.line, kind: isString}
	switch c := l.in[0]; {
	case c == '"':
		v.text, ok = l.basic()
	case c == '\'':
		v.text, ok = l.literal()
	case c >= '1' && c <= '9':
		n := 1
		for n < len(l.in) && l.in[n] >= '0' && l.in[n] <= '9' {
			n++
		}
		v.kind, v.text = isInteger, string(l.in[:n])
		l.in = l.in[n:]
		ok = n < 10
	case l.skip("{ "):
		v.kind, v.inline, v.table = isTable, true, make(map[string]*node, 2)
		for ok = l.pair(v); ok && !l.skip(" }"); ok = ok && l.pair(v) {
			ok = l.skip(", ")
		}
	default:
		return false
	}
	return ok && into.put(name, v)
}

// literal reads '…'.
func (l *lineReader) literal() (string, bool) {
	end := bytes.IndexByte(l.in[1:], '\'')
	if end < 0 {
		return "", false
	}
	text := l.in[1 : end+1]
	l.in = l.in[end+2:]
	return string(text), isPlain(text)
}

// isPlain reports whether text is valid UTF-8 without control characters.
func isPlain(text []byte) bool {
	ascii := true
	for _, c := range text {
		if c < ' ' || c == 0x7f {
			return false
		}
		ascii = ascii && c < utf8.RuneSelf
	}
	return ascii || utf8.Valid(text)
}

// basic reads "…" with the escapes that Encode writes.
func (l *lineReader) basic() (string, bool) {
	end := 1
	for ; end < len(l.in) && l.in[end] != '"'; end++ {
		if l.in[end] == '\\' {
			end++
		}
	}
	if end >= len(l.in) || !isPlain(l.in[1:end]) {
		return "", false
	}
	text := string(l.in[1:end])
	l.in = l.in[end+1:]
	if strings.IndexByte(text, '\\') < 0 {
		return text, true
	}
	return unescape(text)
}

func unescape(text string) (string, bool) {
	var b strings.Builder
	b.Grow(len(text))
	for {
		i := strings.IndexByte(text, '\\')
		if i < 0 {
			b.WriteString(text)
			return b.String(), true
		}
		b.WriteString(text[:i])
		digits := 0
		switch c := text[i+1]; c { // basic has seen that a character follows
		case '"', '\\':
			b.WriteByte(c)
		case 'n':
			b.WriteByte('\n')
		case 't':
			b.WriteByte('\t')
		case 'u':
			digits = 4
		case 'U':
			digits = 8
		default:
			return "", false
		}
		text = text[i+2:]
		if digits > 0 {
			if len(text) < digits {
				return "", false
			}
			r, err := strconv.ParseUint(text[:digits], 16, 32)
			if err != nil || r > utf8.MaxRune || !utf8.ValidRune(rune(r)) {
				return "", false
			}
			b.WriteRune(rune(r))
			text = text[digits:]
		}
	}
}
