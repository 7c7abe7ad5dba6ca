package leak

import (
	"encoding/binary"
	"slices"
)

// search finds patterns in plain text, and the places of any text at which they may lie after
// escapes.
//
// In a pattern behind escapes, some bytes are written as they are and the others as escapes. Either
// eight of its bytes (run) are together as they are, which four and eight find, or each eight of
// them have an escape among them, which classes, pairs, near, before and ends find.
type search struct {
	patterns []pattern
	begins   map[uint64][]int32 // patterns by their first run bytes
	four     grams              // each four consecutive bytes of a pattern
	eight    grams              // each eight consecutive bytes of a pattern
	classes  [256]class
	pairs    [256][4]uint64 // two bytes of a pattern that begin with an unusual one or a backslash
	near     grams          // three bytes of a pattern that begin with an unusual one or a backslash
	before   grams          // three bytes of a pattern that end with an unusual one or a backslash
	ends     [256]bool      // unusual bytes and backslashes among the last two bytes of a pattern

	backslash, high bool // whether a pattern has a backslash, and whether one has bytes beyond ASCII
}

// run is how many consecutive bytes of a pattern make a place suspicious. No pattern is shorter.
const run = 8

// class says whether an escape of a byte may be a part of a pattern.
type class uint8

const (
	foreign class = iota // neither a pattern nor an escape has the byte
	unusual              // a pattern has it, and it is not always
	always               // a letter, a digit, a backslash or a percent sign: usual texts do not escape it
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
	s := &search{patterns: patterns, begins: map[uint64][]int32{}, four: newGrams(n, 64), eight: newGrams(n, 64), near: newGrams(odd, 16), before: newGrams(odd, 16)}
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
	// What is around the byte in the pattern, so that most escapes of it elsewhere do not count.
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

func (s *search) isPair(c, next byte) bool { return s.pairs[c][next/64]&(1<<(next%64)) != 0 }

// find calls found for each pattern in text, until found returns false. With joined, white space
// was removed from text, and find leaves out patterns of the form Plain.
func (s *search) find(text []byte, joined bool, found func(p *pattern) bool) {
	for at := 0; at+run <= len(text); at++ {
		if !s.eight.hasTwice(eight(text[at:])) { // nearly every place ends here
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

// look calls found for each pattern in text, also in escapes, and for those in base64 and in
// hexadecimal digits also across white space.
func (s *search) look(text []byte, found func(p *pattern) bool) {
	if joined, changed := join(s.layers(text, found)); changed {
		s.find(joined, true, found)
	}
}

// layers calls found for each pattern in text, also in up to Depth layers of escapes. It
// returns the text without these layers.
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

// Stream looks for secrets in a text that comes in pieces.
type Stream struct {
	finder *Finder
	kept   []byte
	seen   []string
}

// Stream returns a stream. The stream of a nil Finder finds nothing.
func (f *Finder) Stream() *Stream { return &Stream{finder: f} }

// expansion is how many bytes a stream keeps for one byte of a form. The six bytes of \u0041 take
// eighteen if each of them is written as %XX. Across pieces, a stream may miss a secret with longer
// escapes.
const expansion = 18

// Find looks at the next piece, and returns the secrets that it completes and that were not
// returned before.
func (s *Stream) Find(piece []byte) (all []Found) {
	if s.finder == nil {
		return nil
	}
	text := append(s.kept, piece...)
	for _, found := range s.finder.Find(text) {
		if !slices.Contains(s.seen, found.Name) {
			s.seen = append(s.seen, found.Name)
			all = append(all, found)
		}
	}
	keep := min(len(text), s.finder.longest*expansion)
	s.kept = append(s.kept[:0], text[len(text)-keep:]...)
	return all
}
