package leak

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"slices"
)

// Mask hides values that the receiver of a text must not get. Each byte of a value becomes a "*", so
// the text keeps its length. A nil Mask changes nothing. A Mask may be used by several goroutines at
// once.
//
// A value is found in its spellings, and not across line ends.
//
// The receiver may have written the text, and may measure how long it takes. So the time depends on
// the length of the text and on whole forms that are found, and not on parts of them: a rolling hash
// with a random key is compared for each place of the text and each form. The receiver does see that
// a whole value was replaced, so values that can be guessed are not replaced: see IsGuessable.
type Mask struct {
	digit   [256]uint64 // of each byte: random
	base    uint64      // random
	lengths []maskLength
	longest int
}

// maskLength has the hashes of the forms of n bytes. weight is base to the power of n.
type maskLength struct {
	n      int
	weight uint64
	hashes []uint64
}

// IsGuessable reports whether a value could be found by trying: it has fewer than 16 bytes, fewer
// than 8 different ones, or a single kind (small letters, capitals, digits, others).
func IsGuessable(value string) bool {
	different, kinds := map[byte]bool{}, map[int]bool{}
	for _, c := range []byte(value) {
		different[c] = true
		switch {
		case c >= 'a' && c <= 'z':
			kinds[0] = true
		case c >= 'A' && c <= 'Z':
			kinds[1] = true
		case c >= '0' && c <= '9':
			kinds[2] = true
		default:
			kinds[3] = true
		}
	}
	return len(value) < 16 || len(different) < 8 || len(kinds) < 2
}

// NewMask returns a Mask of the values that cannot be guessed, or nil if there are none. The values
// have no line ends.
func NewMask(values []string) *Mask {
	var forms []string
	for _, value := range values {
		if !IsGuessable(value) {
			forms = append(forms, spellings(value)...)
		}
	}
	if forms == nil {
		return nil
	}
	m := &Mask{}
	var key [(256 + 1) * 8]byte
	rand.Read(key[:])
	for i := range m.digit {
		m.digit[i] = binary.LittleEndian.Uint64(key[i*8:])
	}
	m.base = binary.LittleEndian.Uint64(key[256*8:]) | 1
	slices.Sort(forms)
	for _, form := range slices.Compact(forms) {
		m.add(form)
	}
	return m
}

func (m *Mask) add(form string) {
	hash, weight := uint64(0), uint64(1) // weight is base to the power of the length: see appendSums
	for i := range len(form) {
		hash = hash*m.base + m.digit[form[i]]
		weight *= m.base
	}
	m.longest = max(m.longest, len(form))
	i := slices.IndexFunc(m.lengths, func(l maskLength) bool { return l.n == len(form) })
	if i < 0 {
		i = len(m.lengths)
		m.lengths = append(m.lengths, maskLength{n: len(form), weight: weight})
	}
	m.lengths[i].hashes = append(m.lengths[i].hashes, hash)
}

// block is how many bytes of a text are hashed at once, so that the hashes stay near the processor.
const block = 4 << 10

// each calls found for each form in a text that ends after place from.
func (m *Mask) each(text []byte, from int, found func(begin, end int)) {
	sums := make([]uint64, 0, min(len(text)-from, block)+m.longest)
	for from < len(text) {
		// One block, and before it as much as the longest form that ends in it needs.
		begin, end := max(0, from+1-m.longest), min(len(text), from+block)
		sums = m.appendSums(sums[:0], text[begin:end])
		for i := range m.lengths {
			l := &m.lengths[i]
			first := max(0, from+1-l.n-begin) // of the first form
			if first+l.n >= len(sums) {
				continue
			}
			ends := sums[first+l.n:]
			begins := sums[first:][:len(ends)]
			weight, hashes := l.weight, l.hashes
			for at, sum := range ends {
				hash := sum - begins[at]*weight
				for _, h := range hashes {
					if h == hash {
						found(begin+first+at, begin+first+at+l.n)
					}
				}
			}
		}
		from = end
	}
}

// appendSums appends the hash of the first bytes of a text, for each number of them. The hash of n
// bytes in the middle is the hash up to their end, without the one before them times base to the power
// of n.
func (m *Mask) appendSums(sums []uint64, text []byte) []uint64 {
	sum := uint64(0)
	sums = append(sums, sum)
	for _, c := range text {
		sum = sum*m.base + m.digit[c]
		sums = append(sums, sum)
	}
	return sums
}

// Hide returns a text without the values.
func (m *Mask) Hide(text string) string {
	if m == nil {
		return text
	}
	shown := []byte(text)
	m.each([]byte(text), 0, func(begin, end int) { blacken(shown[begin:end]) })
	return string(shown)
}

func blacken(text []byte) {
	for i := range text {
		text[i] = '*'
	}
}

// ErrSplit means that a value has come in several pieces, of which some were passed on.
var ErrSplit = errors.New("a secret came in several pieces")

// MaskStream hides values in a text that comes in pieces.
type MaskStream struct {
	mask *Mask
	live bool
	// The end of the text, as it came: enough to hold all but the last byte of the longest form, and
	// unless the stream is live, all after the last line end.
	text  []byte
	shown []byte // the same without values, if it is not passed on yet
}

// Stream returns a stream. If it is live, each piece is passed on at once, and a value in several
// pieces is an error. Otherwise the end of the text is kept back until the next piece, unless it is a
// line end. How much is kept back depends on nothing else.
func (m *Mask) Stream(live bool) *MaskStream { return &MaskStream{mask: m, live: live} }

// Next appends to out what may be passed on after the next piece.
func (s *MaskStream) Next(out, piece []byte) ([]byte, error) {
	from := len(s.text)
	s.text, s.shown = append(s.text, piece...), append(s.shown, piece...)
	passed := len(s.text) - len(s.shown)
	split := false
	s.mask.each(s.text, from, func(begin, end int) {
		split = split || begin < passed // its beginning is out, and cannot be hidden any more
		blacken(s.shown[max(0, begin-passed) : end-passed])
	})
	if split {
		return out, ErrSplit
	}
	drop := max(0, len(s.text)-s.mask.longest+1) // no form that ends later begins before it
	if s.live {
		out, s.shown = append(out, s.shown...), s.shown[:0]
	} else {
		// A form has no line end in it: see NewMask. So a whole line is decided.
		drop = max(drop, 1+bytes.LastIndexAny(s.text, "\r\n"))
		out, s.shown = append(out, s.shown[:drop]...), append(s.shown[:0], s.shown[drop:]...)
	}
	s.text = append(s.text[:0], s.text[drop:]...)
	return out, nil
}

// Rest returns what was kept back, at the end of the text.
func (s *MaskStream) Rest() []byte { return s.shown }
