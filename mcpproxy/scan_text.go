package mcpproxy

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// nearBytes is how much of a string is looked at word by word. Only longer runs of plain bytes are worth
// the calls of a vectorised search.
const nearBytes = 32

// skipText returns the index of the first byte at or after i of a string that the state machine has to
// look at: the closing quote, a control character, a backslash whose escape is not complete or not a
// simple one, or len(b). quote is the index of a quote before which there is none at or after some
// earlier i, or less than i if that is not known. skipText returns it for the next call, so that no
// byte is searched for a quote twice.
func (s *Scanner) skipText(b []byte, i, quote int) (at, next int) {
	for {
		i = s.skipWords(b, i)
		if i >= len(b) || !isPlain(b[i]) {
			return i, quote
		}
		begin := i
		i, quote = s.skipEscapes(b, i, quote)
		if n := indexControl(b[begin:i]); n >= 0 {
			return begin + n, quote
		}
	}
}

// skipWords is skipText for text with short runs of plain bytes. It also returns the index of a plain
// byte, after a long run of them.
func (s *Scanner) skipWords(b []byte, i int) int {
	far := i + nearBytes
	for i+9 <= len(b) { // a word, and the byte that a backslash at its end escapes
		m := marks(binary.LittleEndian.Uint64(b[i:]))
		if m == 0 {
			if i += 8; i >= far && isPlain(b[i]) {
				return i
			}
			continue
		}
		i += bits.TrailingZeros64(m) >> 3
		if b[i] != '\\' || !simpleEscape[b[i+1]] {
			return i
		}
		s.hasEscape = true
		i += 2
		far = i + nearBytes
	}
	for i < len(b) {
		switch {
		case isPlain(b[i]):
			i++
		case b[i] == '\\' && i+1 < len(b) && simpleEscape[b[i+1]]:
			s.hasEscape = true
			i += 2
		default:
			return i
		}
	}
	return i
}

// skipEscapes returns an index at or after i up to which there are only escapes of the simple kind,
// plain bytes and control characters. It stops where nothing else is possible, and where the next
// escapes are close to each other. quote is that of skipText.
func (s *Scanner) skipEscapes(b []byte, i, quote int) (at, next int) {
	for {
		if quote < i {
			quote = indexFrom(b, i, '"')
		}
		n := bytes.IndexByte(b[i:quote], '\\')
		if n < 0 {
			return quote, quote
		}
		i += n
		if i+1 == len(b) || !simpleEscape[b[i+1]] {
			return i, quote
		}
		s.hasEscape = true
		if i += 2; n < nearBytes/2 {
			return i, quote
		}
	}
}

func indexFrom(b []byte, i int, c byte) int {
	if n := bytes.IndexByte(b[i:], c); n >= 0 {
		return i + n
	}
	return len(b)
}

const ones, tops = 0x0101010101010101, 0x8080808080808080 // of each byte of a word: the lowest and the highest bit

func isPlain(c byte) bool { return c != '"' && c != '\\' && c >= 0x20 }

// marks marks the quotes, backslashes and control characters of a word in the highest bits of their
// bytes. Only the lowest mark is sure to be one: a borrow can mark the bytes after it.
func marks(x uint64) uint64 {
	quote := x ^ ones*'"'
	slash := x ^ ones*'\\'
	return ((quote-ones)&^quote | (slash-ones)&^slash | below20(x)) & tops
}

// below20 marks the control characters of a word in the highest bits of their bytes. As for marks,
// only the lowest mark is sure.
func below20(x uint64) uint64 { return (x - ones*0x20) &^ x }

// indexControl returns the index of the first control character, or -1.
func indexControl(b []byte) int {
	i := 0
	for ; i+32 <= len(b); i += 32 {
		p := (*[32]byte)(b[i:])
		if (below20(binary.LittleEndian.Uint64(p[:]))|below20(binary.LittleEndian.Uint64(p[8:]))|
			below20(binary.LittleEndian.Uint64(p[16:]))|below20(binary.LittleEndian.Uint64(p[24:])))&tops != 0 {
			break
		}
	}
	for ; i < len(b); i++ {
		if b[i] < 0x20 {
			return i
		}
	}
	return -1
}
