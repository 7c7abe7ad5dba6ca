//go:build linux

package mcpproxy

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// naiveMarks is markBlocks, byte by byte.
func naiveMarks(b []byte) (stops, slashes []uint64) {
	stops, slashes = make([]uint64, len(b)/blockSize), make([]uint64, len(b)/blockSize)
	for i, c := range b {
		switch {
		case c == '"' || c < 0x20:
			stops[i/blockSize] |= 1 << (i % blockSize)
		case c == '\\':
			slashes[i/blockSize] |= 1 << (i % blockSize)
		}
	}
	return stops, slashes
}

// TestBlocks puts each byte at each place of some blocks, which begin at any address.
func TestBlocks(t *testing.T) {
	if !hasBlocks {
		t.Log("this processor has no AVX2")
		return
	}
	const n = 3
	for shift := range 3 {
		memory := []byte(strings.Repeat("a", shift+n*blockSize) + strings.Repeat("\"\\\n\x80", blockSize))
		b := memory[shift:][:n*blockSize]
		for c := range 256 {
			for at := range b {
				b[at] = byte(c)
				want := len(b)
				if c < 0x20 || c >= 0x80 {
					want = at / blockSize * blockSize
				}
				if got := textBlocks(b); got != want {
					t.Fatalf("%#x at %d: text of %d bytes, not %d", c, at, got, want)
				}
				compareMarks(t, b)
				b[at] = 'a'
			}
		}
		for short := range blockSize + 10 {
			if got := textBlocks(b[:short]); got != short/blockSize*blockSize {
				t.Fatalf("%d bytes: %d", short, got)
			}
		}
	}
	random := make([]byte, 8*blockSize)
	for range 2000 {
		for i := range random {
			random[i] = "a\"\\\n\x1f\x20\x7f\x80\xff"[rand.N(9)]
		}
		compareMarks(t, random)
	}
}

func compareMarks(t *testing.T, b []byte) {
	t.Helper()
	stops, slashes := naiveMarks(b)
	n := len(stops)
	gotStops, gotSlashes := make([]uint64, n+1), make([]uint64, n+1)
	gotStops[n], gotSlashes[n] = 7, 7
	markBlocks(&gotStops[0], &gotSlashes[0], &b[0], n)
	for k := range n {
		if gotStops[k] != stops[k] || gotSlashes[k] != slashes[k] {
			t.Fatalf("%q, block %d: stops %x, not %x; slashes %x, not %x", b, k, gotStops[k], stops[k], gotSlashes[k], slashes[k])
		}
	}
	if gotStops[n] != 7 || gotSlashes[n] != 7 {
		t.Fatal("a block too many was marked")
	}
}

// TestScanWithoutBlocks runs the tests of long strings as on a processor that has no AVX2.
func TestScanWithoutBlocks(t *testing.T) {
	defer func(has bool) { hasBlocks = has }(hasBlocks)
	hasBlocks = false
	t.Run("long strings", TestLongStrings)
	t.Run("windows", TestWindows)
}

// FuzzBlocks compares the scan in blocks with one without them, whole and in three parts.
func FuzzBlocks(f *testing.F) {
	for _, here := range []string{`"`, `\`, `\\`, `\"`, `\u0061`, "\n", "é", "\xe9", `","method":"`} {
		for _, n := range []int{blockSize - 9, blockSize - 8, blockSize - 7, 5 * blockSize} {
			f.Add([]byte(`{"id":"`+strings.Repeat("a", n)+here+strings.Repeat("b", n)+`"}`), n, 1)
		}
	}
	f.Fuzz(func(t *testing.T, line []byte, first, second int) {
		defer func(has bool) { hasBlocks = has }(hasBlocks)
		first = max(0, min(first, len(line)))
		second = max(0, min(second, len(line)-first))
		var blocks, parts, plain Scanner
		got, flaws := blocks.Scan(line)
		parts.Feed(line[:first])
		parts.Feed(line[first:][:second])
		parts.Feed(line[first+second:])
		again, flawsAgain := parts.Finish()
		hasBlocks = false
		want, flawsWant := plain.Scan(line)
		if flaws != flawsWant || !reflect.DeepEqual(got, want) {
			t.Fatalf("%q: in blocks %b %+v, without %b %+v", line, flaws, got, flawsWant, want)
		}
		if flawsAgain != flawsWant || !reflect.DeepEqual(again, want) {
			t.Fatalf("%q, cut after %d and %d: %b %+v, whole %b %+v", line, first, second, flawsAgain, again, flawsWant, want)
		}
	})
}
