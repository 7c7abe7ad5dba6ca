package mcpproxy

import "math/bits"

// blockSize is the size of the blocks of markBlocks.
const blockSize = 64

// marked tells where strings may end in a window of the current part, which is some blocks. The window
// begins inside a string, and not inside an escape. A bit of a word is a byte of a block, or a block.
type marked struct {
	from, to int // the window

	// stops has the bytes of a string that the state machine must look at: a quote, a control
	// character, and a backslash whose escape is not a simple one or not in the window.
	stops   [64]uint64
	escapes [64]uint64 // the backslashes that begin an escape

	withStops, withEscapes uint64 // the blocks that have such bytes
}

// skipMarked searches a string from index i on. It returns the index of the first byte that the state
// machine must look at, and found set. Or it returns an index before which there is no such byte.
func (s *Scanner) skipMarked(b []byte, i int) (at int, found bool) {
	w := &s.marked
	for {
		if i >= w.to {
			if len(b)-i < blockSize {
				return i, false
			}
			w.mark(b, i)
		}
		block, bit := (i-w.from)/blockSize%len(w.stops), (i-w.from)%blockSize
		stops, escapes := w.stops[block]>>bit, w.escapes[block]>>bit
		if stops == 0 {
			s.hasEscape = s.hasEscape || escapes != 0
			next := block + 1
			n := bits.TrailingZeros64(w.withStops >> next) // 64 for none
			s.hasEscape = s.hasEscape || w.withEscapes>>next&(1<<n-1) != 0
			if i = w.from + (next+n)*blockSize; i >= w.to {
				i = w.to
				continue
			}
			stops, escapes = w.stops[(next+n)%len(w.stops)], w.escapes[(next+n)%len(w.stops)]
		}
		s.hasEscape = s.hasEscape || escapes&(stops&-stops-1) != 0
		return i + bits.TrailingZeros64(stops), true
	}
}

// mark makes the window that begins at an index.
func (w *marked) mark(b []byte, from int) {
	n := min((len(b)-from)/blockSize, len(w.stops))
	w.from, w.to = from, from+n*blockSize
	w.withStops, w.withEscapes = 0, 0
	markBlocks(&w.stops[0], &w.escapes[0], &b[from], n)
	escaped := uint64(0) // 1 if the first byte of the block is
	for k := range w.stops[:n] {
		stops, slashes := w.stops[k], w.escapes[k]
		if slashes|escaped != 0 {
			var is uint64
			is, escaped = escapedBytes(slashes, escaped)
			slashes &^= is
			stops = stops&^is | notSimple(slashes, b[from+k*blockSize+1:])
			if k == n-1 {
				stops |= escaped << (blockSize - 1)
			}
			w.stops[k], w.escapes[k] = stops, slashes
			w.withEscapes |= 1 << k
		}
		if stops != 0 {
			w.withStops |= 1 << k
		}
	}
}

// escapedBytes returns the bytes of a block that follow a backslash which is not escaped itself, and 1 if
// the first byte of the next block is one. first is 1 if the first byte of this block is one.
func escapedBytes(slashes, first uint64) (escaped, next uint64) {
	const even = 0x5555555555555555
	slashes &^= first
	after := slashes<<1 | first
	// The carry of the sum runs through a row of backslashes, and shows where those that begin at an
	// odd place end. Of a row, each second byte is escaped, and the one after the row may be.
	odd := slashes &^ even &^ after
	ends, next := bits.Add64(odd, slashes, 0)
	return (even ^ ends<<1) & after, next
}

// notSimple returns which of the backslashes of a block begin no simple escape. rest is what follows the
// first byte of the block.
func notSimple(slashes uint64, rest []byte) (marks uint64) {
	for m := slashes; m != 0; m &= m - 1 {
		if n := bits.TrailingZeros64(m); n >= len(rest) || !simpleEscape[rest[n]] {
			marks |= m & -m
		}
	}
	return marks
}
