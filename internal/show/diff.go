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

// A path is how far the search has come on a diagonal, by one more change than the path that it goes on from.
type path struct {
	x     int // lines of the first text; those of the second are x minus the diagonal
	added bool
	from  *path // nil at the beginning
}

// compareLines returns the shortest edit by the algorithm of Myers, "An O(ND) Difference Algorithm"
// (1986): for each number of changes it keeps the path that comes furthest on each diagonal.
func compareLines(a, b []string) []diffLine {
	furthest := map[int]*path{}
	for d := 0; d <= min(maxDifferences, len(a)+len(b)); d++ {
		for k := -d; k <= d; k += 2 {
			p := &path{}
			left, right := furthest[k-1], furthest[k+1] // a removal leads here, or an addition
			switch {
			case d == 0:
			case k == -d, k < d && right.x > left.x:
				p = &path{right.x, true, right}
			default:
				p = &path{left.x + 1, false, left}
			}
			for p.x < len(a) && p.x-k < len(b) && p.x-k >= 0 && a[p.x] == b[p.x-k] {
				p.x++
			}
			if furthest[k] = p; p.x >= len(a) && p.x-k >= len(b) {
				return p.lines(a, b, k)
			}
		}
	}
	return append(linesOf('-', a), linesOf('+', b)...)
}

// lines returns the edit to which a path on diagonal k leads.
func (p *path) lines(a, b []string, k int) (lines []diffLine) {
	if p.from == nil {
		return linesOf(' ', a[:p.x])
	}
	first := p.from.x // after the change
	if p.added {
		lines = append(p.from.lines(a, b, k+1), diffLine{'+', b[first-k-1]})
	} else {
		first++
		lines = append(p.from.lines(a, b, k-1), diffLine{'-', a[first-1]})
	}
	return append(lines, linesOf(' ', a[first:p.x])...)
}

func linesOf(kind byte, texts []string) (lines []diffLine) {
	for _, text := range texts {
		lines = append(lines, diffLine{kind, text})
	}
	return lines
}
