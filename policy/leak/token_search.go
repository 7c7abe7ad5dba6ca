package leak

import (
	"bytes"
	"encoding/binary"
	"strings"
)

// tokenSearch finds well-known kinds of tokens. It does not look behind escapes: none of the
// characters of a token is usually escaped. Only a private key may have escaped line ends.
type tokenSearch struct {
	pairs   [1 << 16 / 64]uint64 // two bytes of an anchor
	anchors grams
	by      map[uint32][]tokenAt
	kinds   int
}

// tokenAt is a kind of token, as tokenSearch.by has it for the four bytes of its anchor.
type tokenAt struct {
	*token
	at   int // of the anchor in begin
	kind int // index in tokens
}

// runs holds, for each kind, the last run of its characters at which the search has looked, so that
// no text makes it look at a run again and again.
type runs []struct{ begin, end int }

func newTokenSearch() *tokenSearch {
	all := tokens()
	s := &tokenSearch{kinds: len(all), anchors: newGrams(len(all), 128), by: map[uint32][]tokenAt{}}
	for i := range all {
		t := &all[i]
		anchor := []byte(t.anchor)
		s.anchors.add(four(anchor))
		for at := range 3 {
			pair := binary.LittleEndian.Uint16(anchor[at:])
			s.pairs[pair/64] |= 1 << (pair % 64)
		}
		k := binary.LittleEndian.Uint32(anchor)
		s.by[k] = append(s.by[k], tokenAt{t, strings.Index(t.begin, t.anchor), i})
	}
	return s
}

// find calls found with the kind of each token in a text. It looks at two bytes at every third
// place: an anchor of four bytes has three pairs, and one of them begins at such a place.
func (s *tokenSearch) find(text []byte, found func(name string)) {
	var seen runs
	for at := 0; at+2 <= len(text); at += 3 {
		pair := binary.LittleEndian.Uint16(text[at:])
		if s.pairs[pair/64]&(1<<(pair%64)) == 0 {
			continue
		}
		for begin := max(0, at-2); begin <= at && begin+4 <= len(text); begin++ {
			s.findAt(text, begin, &seen, found)
		}
	}
}

// findAt calls found with the kinds of the tokens whose anchor is at a place.
func (s *tokenSearch) findAt(text []byte, at int, seen *runs, found func(name string)) {
	if !s.anchors.has(four(text[at:])) {
		return
	}
	for _, t := range s.by[binary.LittleEndian.Uint32(text[at:])] {
		if *seen == nil {
			*seen = make(runs, s.kinds)
		}
		if t.stands(text, at-t.at, *seen) {
			found(t.name)
		}
	}
}

// stands reports whether begin of this kind is at a place of a text, and a token is around it.
func (t *tokenAt) stands(text []byte, at int, seen runs) bool {
	if at < 0 || !bytes.HasPrefix(text[at:], []byte(t.begin)) {
		return false
	}
	if !t.inside && at > 0 && isLetterOrDigit(text[at-1]) && !endsEscape(text[:at]) {
		return false // the end of a longer word
	}
	begin := at + len(t.begin)
	run := &seen[t.kind]
	if begin < run.begin || begin >= run.end {
		run.begin, run.end = begin, begin
		for run.end < len(text) && t.has[text[run.end]] {
			run.end++
		}
	}
	rest, n := text[begin:], run.end-begin
	if t.inside {
		n = min(n, t.most)
	}
	return n >= t.least && n <= t.most && t.check(string(text[max(0, at-maxToken):at]), string(rest[:n]))
}

func endsEscape(text []byte) bool {
	n := len(text)
	return n >= 2 && text[n-2] == '\\' || n >= 3 && text[n-3] == '%' || n >= 6 && text[n-6] == '\\' && text[n-5] == 'u'
}
