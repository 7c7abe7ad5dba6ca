package leak

import "encoding/binary"

// search finds patterns in plain text, and the places of any text at which they may lie behind
// escapes.
//
// A pattern behind escapes consists of bytes as they are and of escapes. Either run of its bytes
// stand together as they are, which four and eight tell, or there is an escape among them every
// few bytes, which classes and near tell.
type search struct {
	patterns []pattern
	begins   map[uint64][]int32 // patterns by their first run bytes
	four     grams              // each four bytes of a pattern
	eight    grams              // each eight bytes of a pattern
	classes  [256]class
	pairs    [256][4]uint64 // two bytes of a pattern that begin with one of the class unusual
	near     grams          // three such bytes
	before   grams          // three bytes of a pattern that end with one of them
	ends     [256]bool      // those of them that are one of the last two bytes of a pattern

	backslash, high bool // a pattern has a backslash, or bytes beyond ASCII
}

// run is how many bytes of a pattern are found where they stand together. No pattern is shorter.
const run = 8

// class is what an escape of a byte means.
type class uint8

const (
	foreign class = iota // no pattern has the byte, and no escape
	unusual              // a pattern has it
	always               // a letter, a digit or a part of an escape: usual texts do not escape it
)

func newSearch(patterns []pattern) *search {
	n, odd := 0, 0
	for _, p := range patterns {
		n += len(p.text)
		for _, c := range []byte(p.text) {
			if !isLetterOrDigit(c) {
				odd++
			}
		}
	}
	s := &search{patterns: patterns, begins: map[uint64][]int32{}, four: newGrams(n, 16), eight: newGrams(n, 64), near: newGrams(odd, 16), before: newGrams(odd, 16)}
	for c := range s.classes {
		if isLetterOrDigit(byte(c)) || c == '\\' || c == '%' {
			s.classes[c] = always
		}
	}
	for i, p := range patterns {
		text := []byte(p.text)
		for at := range text {
			if len(text)-at >= 4 {
				s.four.add(four(text[at:]))
			}
			if len(text)-at >= run {
				s.eight.addTwice(eight(text[at:]))
			}
			s.addUnusual(text, at)
		}
		begin := binary.LittleEndian.Uint64(text)
		s.begins[begin] = append(s.begins[begin], int32(i))
	}
	return s
}

// addUnusual notes what stands around a byte of a pattern that usual texts may escape.
func (s *search) addUnusual(text []byte, at int) {
	c := text[at]
	switch {
	case c == '\\':
		s.backslash = true
	case s.classes[c] == always:
		return
	default:
		s.classes[c], s.high = unusual, s.high || c >= 0x80
	}
	if at+1 < len(text) {
		s.pairs[c][text[at+1]/64] |= 1 << (text[at+1] % 64)
	}
	if at+2 < len(text) {
		s.near.add(three(c, text[at+1], text[at+2]))
	} else {
		s.ends[c] = true
	}
	if at >= 2 {
		s.before.add(three(text[at-2], text[at-1], c))
	}
}

func isLetterOrDigit(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}

// isPair reports whether a pattern has an unusual byte and then another one.
func (s *search) isPair(c, next byte) bool { return s.pairs[c][next/64]&(1<<(next%64)) != 0 }

// find calls found for each pattern in text, until found returns false. It looks for all
// patterns, or for those in which white space was removed.
func (s *search) find(text []byte, joined bool, found func(p *pattern) bool) {
	for at := 0; at+run <= len(text); at++ {
		if !s.eight.hasTwice(eight(text[at:])) {
			continue
		}
		for _, k := range s.begins[binary.LittleEndian.Uint64(text[at:])] {
			p := &s.patterns[k]
			rest := text[at:]
			if len(rest) < len(p.text) || string(rest[:len(p.text)]) != p.text || joined && p.form == Plain {
				continue
			}
			if !found(p) {
				return
			}
		}
	}
}

// look calls found for each pattern in text, also behind escapes and across line ends.
func (s *search) look(text []byte, found func(p *pattern) bool) {
	if joined, changed := join(s.layers(text, found)); changed {
		s.find(joined, true, found)
	}
}

// layers calls found for each pattern in text, also behind escapes, and returns the text without
// them.
func (s *search) layers(text []byte, found func(p *pattern) bool) (plain []byte) {
	for layer := 0; ; layer++ {
		s.find(text, false, found)
		if layer == Depth {
			return text
		}
		plain, changed := unescape(text)
		if !changed {
			return text
		}
		text = plain
	}
}
