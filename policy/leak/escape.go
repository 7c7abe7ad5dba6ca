package leak

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// unescape takes off one layer of the escapes of JSON strings and of URLs. If there are none,
// changed is false and out is text. An invalid escape stays as it is.
func unescape(text []byte) (out []byte, changed bool) {
	next := escapes{text: text, backslash: -1, percent: -1}
	done := 0
	for at := next.from(0); at < len(text); at = next.from(done) {
		if out == nil {
			out = make([]byte, 0, len(text))
		}
		out = append(out, text[done:at]...)
		n := 0
		if text[at] == '%' {
			out, n = unescapeURL(out, text[at:])
		} else {
			out, n = unescapeJSON(out, text[at:])
		}
		if n == 0 {
			out, n = append(out, text[at]), 1
		} else {
			changed = true
		}
		done = at + n
	}
	if !changed {
		return text, false
	}
	return append(out, text[done:]...), true
}

// escapes finds the backslashes and percent signs of a text, which can begin an escape. It looks at
// each byte once for each of the two characters.
type escapes struct {
	text               []byte
	backslash, percent int // the place of the next one, or the length of the text; -1: not looked for yet
}

func (e *escapes) from(place int) int {
	next := func(at *int, c byte) {
		if *at >= place {
			return
		}
		if *at = bytes.IndexByte(e.text[place:], c); *at < 0 {
			*at = len(e.text)
		} else {
			*at += place
		}
	}
	next(&e.backslash, '\\')
	next(&e.percent, '%')
	return min(e.backslash, e.percent)
}

// unescapeURL appends the byte that %XX stands for, and returns the length of the escape, or 0.
func unescapeURL(out, text []byte) ([]byte, int) {
	if len(text) < 3 {
		return out, 0
	}
	high, low := digit(text[1]), digit(text[2])
	if high < 0 || low < 0 {
		return out, 0
	}
	return append(out, byte(high<<4|low)), 3
}

// short maps the letter after a backslash to the byte that both stand for. 0: they are no escape.
var short = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// unescapeJSON appends the character that an escape stands for, and returns the length of the
// escape, or 0.
func unescapeJSON(out, text []byte) ([]byte, int) {
	if len(text) < 2 {
		return out, 0
	}
	if c := short[text[1]]; c != 0 {
		return append(out, c), 2
	}
	r, ok := unicodeEscape(text)
	if !ok {
		return out, 0
	}
	if second, ok := unicodeEscape(text[6:]); ok && utf16.IsSurrogate(r) {
		if both := utf16.DecodeRune(r, second); both != utf8.RuneError {
			return utf8.AppendRune(out, both), 12
		}
	}
	return utf8.AppendRune(out, r), 6
}

// unicodeEscape returns the character of the \uXXXX at the start of text.
func unicodeEscape(text []byte) (r rune, ok bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	for _, c := range text[2:6] {
		d := digit(c)
		if d < 0 {
			return 0, false
		}
		r = r<<4 | rune(d)
	}
	return r, true
}

func digit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

func join(text []byte) (out []byte, changed bool) {
	if !bytes.ContainsAny(text, " \t\r\n") {
		return text, false
	}
	out = make([]byte, 0, len(text))
	for _, c := range text {
		if !isSpace(c) {
			out = append(out, c)
		}
	}
	return out, true
}
