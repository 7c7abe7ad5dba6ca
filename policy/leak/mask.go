package leak

import (
	"bytes"
	"errors"
	"strings"
)

// Mask hides values that the receiver of a text must not get. Each byte of a value becomes a "*", so
// the text keeps its length. A nil Mask changes nothing. A Mask may be used by several goroutines at
// once.
//
// The receiver may have written the text. It sees that a whole value was replaced, so values that
// can be guessed are not replaced: see isGuessable.
type Mask struct{ searcher *Searcher }

// isGuessable reports whether a value could be found by trying: it has fewer than 16 bytes, fewer
// than 8 different ones, or a single kind (small letters, capitals, digits, others).
func isGuessable(value string) bool {
	different, kinds := variety(value)
	return len(value) < 16 || different < 8 || kinds < 2
}

// NewMask returns a Mask of the values that cannot be guessed, or nil if there are none. The values
// have no line ends.
func NewMask(values []string) *Mask {
	var secrets []Secret
	for _, value := range values {
		if !isGuessable(value) {
			secrets = append(secrets, Secret{Value: value})
		}
	}
	if secrets == nil {
		return nil
	}
	return &Mask{New(secrets, false)}
}

// Hide returns a text without the values.
func (m *Mask) Hide(text string) string {
	if m == nil {
		return text
	}
	return m.searcher.Replace(text, func(_ string, length int) string { return strings.Repeat("*", length) })
}

// errSplit means that a value has come in several pieces, of which some were passed on.
var errSplit = errors.New("a secret came in several pieces")

// MaskStream hides values in a text that comes in pieces.
type MaskStream struct {
	searcher *Searcher
	live     bool
	// The end of the text, as it came: enough to hold all but the last byte of the longest form, and
	// unless the stream is live, all after the last line end.
	text  []byte
	shown []byte // the same without values, if it is not passed on yet
}

// Stream returns a stream. If it is live, each piece is passed on at once, and a value in several
// pieces is an error. Otherwise the end of the text is kept back until the next piece, unless it is a
// line end. How much is kept back depends on nothing else.
func (m *Mask) Stream(live bool) *MaskStream { return &MaskStream{searcher: m.searcher, live: live} }

// Next appends to out what may be passed on after the next piece.
func (s *MaskStream) Next(out, piece []byte) ([]byte, error) {
	from := len(s.text)
	s.text, s.shown = append(s.text, piece...), append(s.shown, piece...)
	passed := len(s.text) - len(s.shown)
	split := false
	s.searcher.each(s.text, from, func(_ *pattern, begin, end int) {
		split = split || begin < passed // its beginning is out, and cannot be hidden any more
		for at := max(begin, passed); at < end; at++ {
			s.shown[at-passed] = '*'
		}
	})
	if split {
		return out, errSplit
	}
	drop := max(0, len(s.text)-s.searcher.longest+1) // no form that ends later begins before it
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
