package leak

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestAutomaton compares random patterns of few letters with a plain search, and tests that each byte
// of a text takes one step: the table has an entry for each state and class of bytes, so what was
// found before changes which entry is read and not how many.
func TestAutomaton(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	text := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteByte("abc"[random.IntN(3)])
		}
		return b.String()
	}
	for range 300 {
		var patterns [][]byte
		for range 1 + random.IntN(8) {
			patterns = append(patterns, []byte(text(1+random.IntN(5))))
		}
		a, in := newAutomaton(patterns), text(random.IntN(40))+"x"+text(random.IntN(40))
		got, want := map[string]int{}, map[string]int{}
		a.each([]byte(in), func(pattern, end int) { got[fmt.Sprint(pattern, " ", end)]++ })
		for i, p := range patterns {
			for end := len(p); end <= len(in); end++ {
				if strings.HasSuffix(in[:end], string(p)) {
					want[fmt.Sprint(i, " ", end)]++
				}
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%s in %s:\n got %v\nwant %v", patterns, in, got, want)
		}
		classes := 1
		for _, c := range a.class {
			classes = max(classes, int(c)+1)
		}
		for at, state := range a.next {
			if row := int(state &^ ending); row%classes != 0 || row+classes > len(a.next) || len(a.next)%classes != 0 {
				t.Fatalf("%s: entry %d of %d is %d, with %d classes", patterns, at, len(a.next), row, classes)
			}
		}
	}
}
