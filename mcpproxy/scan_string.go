package mcpproxy

import (
	"encoding/binary"
	"unicode/utf16"
	"unicode/utf8"
)

// byteOrderMark is at the start of a stream of some writers. RFC 8259, "Character
// Encoding", allows readers to ignore it.
const byteOrderMark = "\xef\xbb\xbf"

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

// skipPlain returns the index of the first quote, backslash or control character from i on, or len(b).
// It looks at eight bytes at a time: most of a large message is text.
func skipPlain(b []byte, i int) int {
	const ones, tops = 0x0101010101010101, 0x8080808080808080 // of each byte: the lowest and the highest bit
	for ; i+8 <= len(b); i += 8 {
		x := binary.LittleEndian.Uint64(b[i:])
		quote, slash := x^ones*'"', x^ones*'\\'
		if ((quote-ones)&^quote|(slash-ones)&^slash|(x-ones*0x20)&^x)&tops != 0 {
			break
		}
	}
	for i < len(b) && b[i] != '"' && b[i] != '\\' && b[i] >= 0x20 {
		i++
	}
	return i
}

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
