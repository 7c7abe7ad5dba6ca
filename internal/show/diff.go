package show

import (
	"bytes"
	"fmt"
	"strings"
)

// maxDifferences bounds the search for the shortest difference. Texts that differ in more lines
// are shown as one removed and one added block.
const maxDifferences = 1000

// A Diff says how a difference is written.
type Diff struct {
	Context int  // the number of equal lines around each change
	Counts  bool // also the number of lines of a range that has one: -1,1 and not -1

	// Skipped returns how many lines the texts lack before a line, if they are parts of a file.
	Skipped func(line int) int
}

// Unified returns the difference of two versions of a file, or "" if they are equal. Lines keep
// their bytes, a carriage return too: the caller makes them safe for a terminal. The lines around a
// change may hold secrets of the file.
func (f Diff) Unified(name string, before, after []byte) string {
	if bytes.Equal(before, after) {
		return ""
	}
	lines := compareLines(splitLines(before), splitLines(after))
	var out strings.Builder
	fmt.Fprintf(&out, "--- %s\n+++ %s\n", name, name)
	for from := 0; from < len(lines); {
		first := nextChange(lines, from)
		if first == len(lines) {
			break
		}
		end := first // after the last change of the hunk
		for next := first; next < len(lines) && next <= end+2*f.Context; next = nextChange(lines, end) {
			end = next + 1
		}
		f.writeHunk(&out, lines, max(from, first-f.Context), min(len(lines), end+f.Context))
		from = end
	}
	return out.String()
}

// A diffLine is a line of a diff: ' ' in both files, '-' in the first, '+' in the second.
type diffLine struct {
	kind byte
	text string
}

func nextChange(lines []diffLine, from int) int {
	for from < len(lines) && lines[from].kind == ' ' {
		from++
	}
	return from
}

func (f Diff) writeHunk(out *strings.Builder, lines []diffLine, from, to int) {
	var before, after [2]int // lines before the hunk, and in it
	for i, line := range lines[:to] {
		in := 0
		if i >= from {
			in = 1
		}
		if line.kind != '+' {
			before[in]++
		}
		if line.kind != '-' {
			after[in]++
		}
	}
	if f.Skipped != nil {
		skipped := f.Skipped(before[0])
		before[0], after[0] = before[0]+skipped, after[0]+skipped
	}
	fmt.Fprintf(out, "@@ -%s +%s @@\n", f.hunkRange(before), f.hunkRange(after))
	for _, line := range lines[from:to] {
		out.WriteByte(line.kind)
		out.WriteString(line.text)
		if !strings.HasSuffix(line.text, "\n") {
			out.WriteString("\n\\ No newline at end of file\n")
		}
	}
}

func (f Diff) hunkRange(counts [2]int) string {
	if counts[1] == 0 {
		return fmt.Sprintf("%d,0", counts[0])
	}
	if counts[1] == 1 && !f.Counts {
		return fmt.Sprint(counts[0] + 1)
	}
	return fmt.Sprintf("%d,%d", counts[0]+1, counts[1])
}

func splitLines(text []byte) []string {
	lines := strings.SplitAfter(string(text), "\n")
	if last := len(lines) - 1; lines[last] == "" {
		lines = lines[:last]
	}
	return lines
}

func compareLines(a, b []string) (lines []diffLine) {
	both := func(equal []string) {
		for _, line := range equal {
			lines = append(lines, diffLine{' ', line})
		}
	}
	// What is equal at both ends is most of a file, and needs no search.
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	both(a[:head])
	lines = append(lines, shortestEdit(a[head:len(a)-tail], b[head:len(b)-tail])...)
	both(a[len(a)-tail:])
	return lines
}

// shortestEdit returns the shortest edit by the algorithm of Myers, "An O(ND) Difference
// Algorithm" (1986): reach[d] holds, for each diagonal k = x-y from -d to d, how far in a the
// furthest path with d removals and additions comes.
func shortestEdit(a, b []string) []diffLine {
	var reach [][]int
	for d := 0; d <= len(a)+len(b); d++ {
		if d > maxDifferences {
			return replaceAll(a, b)
		}
		row := make([]int, 2*d+1)
		reach = append(reach, row)
		for k := -d; k <= d; k += 2 {
			x := 0
			if d > 0 {
				x, _ = step(reach[d-1], d, k)
			}
			for x < len(a) && x-k < len(b) && x-k >= 0 && a[x] == b[x-k] {
				x++
			}
			row[k+d] = x
			// Both ends are reached: d is the smallest number of changes.
			if x >= len(a) && x-k >= len(b) {
				return walkBack(a, b, reach, k)
			}
		}
	}
	return nil
}

// step returns where the path of d-1 changes arrives on diagonal k with one more change, and
// whether that is an addition.
func step(before []int, d, k int) (x int, added bool) {
	left, right := -1, -1 // from k-1 by a removal, from k+1 by an addition
	if k > -d {
		left = before[k-1+d-1] + 1
	}
	if k < d {
		right = before[k+1+d-1]
	}
	if right >= left {
		return right, true
	}
	return left, false
}

func walkBack(a, b []string, reach [][]int, k int) []diffLine {
	var back []diffLine
	x := len(a)
	for d := len(reach) - 1; d >= 0; d-- {
		start, added := 0, false
		if d > 0 {
			start, added = step(reach[d-1], d, k)
		}
		for ; x > start; x-- {
			back = append(back, diffLine{' ', a[x-1]})
		}
		switch {
		case d == 0:
		case added:
			back = append(back, diffLine{'+', b[x-k-1]})
			k++
		default:
			back = append(back, diffLine{'-', a[x-1]})
			x--
			k--
		}
	}
	for i, j := 0, len(back)-1; i < j; i, j = i+1, j-1 {
		back[i], back[j] = back[j], back[i]
	}
	return back
}

func replaceAll(a, b []string) (lines []diffLine) {
	for _, line := range a {
		lines = append(lines, diffLine{'-', line})
	}
	for _, line := range b {
		lines = append(lines, diffLine{'+', line})
	}
	return lines
}
