package leak

import "encoding/binary"

// grams is a set of short texts, given by their hashes (a Bloom filter). has may be true for a text
// that was not added.
type grams struct {
	bits  []uint64
	shift uint8
}

func newGrams(n, each int) grams {
	bits := 12
	for bits < 23 && 1<<bits < each*n {
		bits++
	}
	return grams{make([]uint64, 1<<bits/64), uint8(64 - bits)}
}

func (g *grams) add(h uint64) { h >>= g.shift & 63; g.bits[h/64] |= 1 << (h % 64) }

func (g *grams) has(h uint64) bool { h >>= g.shift & 63; return g.bits[h/64]&(1<<(h%64)) != 0 }

// addTwice and hasTwice use two bits for a text, so that hasTwice is true for fewer texts that were
// not added.
func (g *grams) addTwice(h uint64) { g.add(h); g.add(again(h)) }

func (g *grams) hasTwice(h uint64) bool { return g.has(h) && g.has(again(h)) }

func again(h uint64) uint64 { return (h ^ h>>32) * mix }

const mix = 0x9E3779B97F4A7C15

func eight(b []byte) uint64 { return binary.LittleEndian.Uint64(b) * mix }

func four(b []byte) uint64 { return uint64(binary.LittleEndian.Uint32(b)) * mix }

func three(a, b, c byte) uint64 { return (uint64(a)<<16 | uint64(b)<<8 | uint64(c) | 1<<40) * mix }
