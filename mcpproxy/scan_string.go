package mcpproxy

import (
	"unicode/utf16"
	"unicode/utf8"
)

// byteOrderMark is at the start of a stream of some writers. RFC 8259, "Character
// Encoding", allows readers to ignore it.
const byteOrderMark = "\xef\xbb\xbf"

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

func (s *Scanner) noteSpace(c byte) {
	if (c == '\r' || c == '\n') && s.depth > 0 {
		s.flaws |= FlawLine
	}
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

var simpleEscape = [256]bool{'"': true, '\\': true, '/': true, 'b': true, 'f': true, 'n': true, 'r': true, 't': true}

// appendUnescaped appends the decoded content of a string that the scanner has found
// well-formed. ok is false for a lone surrogate, which decoders treat differently, and for
// NUL, which ends a C string.
func appendUnescaped(dst, b []byte) (out []byte, ok bool) {
	ok = true
	for i := 0; i < len(b); i++ {
		if b[i] != '\\' {
			dst = append(dst, b[i])
			continue
		}
		i++
		switch b[i] {
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 't':
			dst = append(dst, '\t')
		case 'u':
			r := hex4(b[i+1:])
			i += 4
			if utf16.IsSurrogate(r) {
				low := rune(utf8.RuneError)
				if i+6 < len(b) && b[i+1] == '\\' && b[i+2] == 'u' {
					low = hex4(b[i+3:])
				}
				if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
					ok = false
				} else {
					i += 6
				}
			}
			ok = ok && r != 0
			dst = utf8.AppendRune(dst, r)
		default:
			dst = append(dst, b[i])
		}
	}
	return dst, ok
}

func hex4(b []byte) (r rune) {
	for _, c := range b[:4] {
		r <<= 4
		switch {
		case c <= '9':
			r |= rune(c - '0')
		default:
			r |= rune(c|0x20-'a') + 10
		}
	}
	return r
}

func (s *Scanner) checkUTF8(b []byte) {
	if s.flaws.Has(FlawText) {
		s.partialLen = 0
		return
	}
	for s.partialLen > 0 && len(b) > 0 {
		s.partialRune[s.partialLen] = b[0]
		s.partialLen++
		b = b[1:]
		if r := s.partialRune[:s.partialLen]; utf8.FullRune(r) {
			if !utf8.Valid(r) {
				s.flaws |= FlawText
			}
			s.partialLen = 0
		}
	}
	end := len(b)
	for back := 1; back <= 3 && back <= len(b); back++ {
		c := b[len(b)-back]
		if c < utf8.RuneSelf {
			break
		}
		if utf8.RuneStart(c) {
			if !utf8.FullRune(b[len(b)-back:]) {
				end = len(b) - back
			}
			break
		}
	}
	if !utf8.Valid(b[:end]) {
		s.flaws |= FlawText
		return
	}
	if end < len(b) {
		s.partialLen = copy(s.partialRune[:], b[end:])
	}
}
