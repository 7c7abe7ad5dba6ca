package toolpin

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// appendChar appends one character as RFC 8785 writes it inside a string.
func appendChar(out []byte, r rune) []byte {
	switch r {
	case '"', '\\':
		return append(out, '\\', byte(r))
	case '\b':
		return append(out, `\b`...)
	case '\t':
		return append(out, `\t`...)
	case '\n':
		return append(out, `\n`...)
	case '\f':
		return append(out, `\f`...)
	case '\r':
		return append(out, `\r`...)
	}
	if r < 0x20 {
		return append(out, '\\', 'u', '0', '0', hexDigits[r>>4], hexDigits[r&15])
	}
	return utf8.AppendRune(out, r)
}

// appendUnescaped appends the inside of a JSON string, valid UTF-8, in canonical form. lone
// reports that it contains half of a surrogate pair.
func appendUnescaped(out, in []byte) (_ []byte, lone, ok bool) {
	for i := 0; i < len(in); {
		if plain := bytes.IndexByte(in[i:], '\\'); plain != 0 {
			if plain < 0 {
				plain = len(in) - i
			}
			out = append(out, in[i:i+plain]...)
			i += plain
			continue
		}
		r, n := unescape(in[i:])
		if n == 0 {
			return nil, false, false
		}
		i += n
		if utf16.IsSurrogate(r) {
			low, n := rune(0), 0
			if i < len(in) && in[i] == '\\' {
				low, n = unescape(in[i:])
			}
			// Half a pair is kept as it is: U+FFFD in its place would make two texts equal.
			if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
				r = pair
				i += n
			} else {
				lone = true
				out = append(out, '\\', 'u', hexDigits[r>>12], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
				continue
			}
		}
		out = appendChar(out, r)
	}
	return out, lone, true
}

// unescape returns the code unit of the escape at the start of in, and its length: 0 if it
// is not one.
func unescape(in []byte) (r rune, n int) {
	if len(in) < 2 {
		return 0, 0
	}
	switch in[1] {
	case '"', '\\', '/':
		return rune(in[1]), 2
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'u':
		if len(in) < 6 {
			return 0, 0
		}
		for _, c := range in[2:6] {
			switch {
			case c >= '0' && c <= '9':
				r = r<<4 | rune(c-'0')
			case c|0x20 >= 'a' && c|0x20 <= 'f':
				r = r<<4 | rune(c|0x20-'a'+10)
			default:
				return 0, 0
			}
		}
		return r, 6
	}
	return 0, 0
}

// Quote returns a text, valid UTF-8, as a canonical JSON string.
func Quote(text string) string {
	out := make([]byte, 0, len(text)+2)
	out = append(out, '"')
	for _, r := range text {
		out = appendChar(out, r)
	}
	return string(append(out, '"'))
}

// Unquote returns the text of a canonical JSON string. ok is false for other JSON, and for a
// string that no text can hold: one with half of a surrogate pair.
func Unquote(canonical string) (text string, ok bool) {
	if len(canonical) < 2 || canonical[0] != '"' || canonical[len(canonical)-1] != '"' {
		return "", false
	}
	inside := canonical[1 : len(canonical)-1]
	out := make([]byte, 0, len(inside))
	for i := 0; i < len(inside); {
		switch c := inside[i]; {
		case c == '\\':
			r, n := unescape([]byte(inside[i:min(i+6, len(inside))]))
			if n == 0 || utf16.IsSurrogate(r) {
				return "", false
			}
			out = utf8.AppendRune(out, r)
			i += n
		case c == '"':
			return "", false
		default:
			out = append(out, c)
			i++
		}
	}
	return string(out), utf8.Valid(out)
}
