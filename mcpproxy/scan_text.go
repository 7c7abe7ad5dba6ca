package mcpproxy

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// nearBytes is how much of a string is looked at word by word. Only longer runs of plain bytes are worth
// the calls of a vectorised search.
const nearBytes = 32

// skipWords searches a string from index i on. It returns the index of the first byte that the state
// machine must look at: the closing quote, a control character, a backslash whose escape is not complete or not a
// simple one, or len(b). After a long run of plain bytes it returns where it is, and long set: skipText
// goes on there. b[:ascii] is text as textPrefix finds it.
func (s *Scanner) skipWords(b []byte, i, ascii int) (at int, long bool) {
	far := i + nearBytes
	for i+9 <= ascii { // a word, and the byte that a backslash at its end escapes
		end := i + 8
		for m := marksOfText(binary.LittleEndian.Uint64(b[i:])); m != 0; {
			n := bits.TrailingZeros64(m) >> 3
			i += n
			if b[i] != '\\' || !simpleEscape[b[i+1]] {
				return i, false
			}
			s.hasEscape = true
			i += 2
			m = m >> (n * 8) >> 16
			far = i + nearBytes
		}
		if i < end { // not max: the processor guesses a branch
			i = end
		}
		if i >= far {
			return i, true
		}
	}
	for i < len(b) {
		if i+8 <= len(b) {
			m := marks(binary.LittleEndian.Uint64(b[i:]))
			if m == 0 {
				if i += 8; i >= far {
					return i, true
				}
				continue
			}
			i += bits.TrailingZeros64(m) >> 3
		}
		switch {
		case b[i] == '\\' && i+1 < len(b) && simpleEscape[b[i+1]]:
			s.hasEscape = true
			i += 2
			far = i + nearBytes
		case isPlain(b[i]):
			i++
		default:
			return i, false
		}
	}
	return i, false
}

// skipText goes on where skipWords has found a long run of plain bytes, and returns what skipWords does
// at the end. quote is the index of a quote before which there is none at or after some earlier i, or
// less than i if that is not known. skipText returns it for the next call, so that no byte is searched
// for a quote twice.
func (s *Scanner) skipText(b []byte, i, quote, ascii int) (at, next int) {
	for long := true; long; {
		begin := i
		i, quote = s.skipEscapes(b, i, quote)
		if from := max(begin, ascii); from < i {
			if n := indexControl(b[from:i]); n >= 0 {
				return from + n, quote
			}
		}
		i, long = s.skipWords(b, i, ascii)
	}
	return i, quote
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

// marksOfText marks the quotes and backslashes of a word that is ASCII. All of its marks are sure.
func marksOfText(x uint64) uint64 {
	return ^(((x ^ ones*'"') + ones*0x7f) & ((x ^ ones*'\\') + ones*0x7f)) & tops
}

// below20 marks the control characters of a word in the highest bits of their bytes. As for marks,
// only the lowest mark is sure.
func below20(x uint64) uint64 { return (x - ones*0x20) &^ x }

// textPrefix returns the length of the longest prefix that is ASCII without control characters.
func textPrefix(b []byte) int {
	i := 0
	for ; i+64 <= len(b); i += 64 {
		p := (*[64]byte)(b[i:])
		m := odd(p[:]) | odd(p[8:]) | odd(p[16:]) | odd(p[24:]) | odd(p[32:]) | odd(p[40:]) | odd(p[48:]) | odd(p[56:])
		if m&tops != 0 {
			break
		}
	}
	for ; i+8 <= len(b); i += 8 {
		if m := odd(b[i:]) & tops; m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
	}
	for i < len(b) && b[i] >= 0x20 && b[i] < utf8.RuneSelf {
		i++
	}
	return i
}

// odd marks the control characters of eight bytes, and those beyond ASCII. As for marks, only the
// lowest mark is sure.
func odd(b []byte) uint64 {
	x := binary.LittleEndian.Uint64(b)
	return (x - ones*0x20) | x
}

// indexControl returns the index of the first control character, or -1.
func indexControl(b []byte) int {
	i := 0
	for ; i+32 <= len(b); i += 32 {
		p := (*[32]byte)(b[i:])
		m := below20(binary.LittleEndian.Uint64(p[:])) | below20(binary.LittleEndian.Uint64(p[8:])) |
			below20(binary.LittleEndian.Uint64(p[16:])) | below20(binary.LittleEndian.Uint64(p[24:]))
		if m&tops != 0 {
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
