package undo

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
)

// maxEdits bounds the removed and added lines of a difference. Two texts that differ in more are
// shown as one that replaces the other.
const maxEdits = 2000

// context is the number of equal lines around a difference.
const context = 3

// Diff returns the difference of two texts in the unified format, or "" if there is none.
func Diff(path string, before, after []byte) string {
	if bytes.Equal(before, after) {
		return ""
	}
	path = show.Name(path) // the server chose the path: it must not look like lines of the difference
	head := "--- " + path + "\n+++ " + path + "\n"
	if bytes.IndexByte(before, 0) >= 0 || bytes.IndexByte(after, 0) >= 0 {
		return head + fmt.Sprintf("(%d and %d bytes that are no text)\n", len(before), len(after))
	}
	lines := edits(splitLines(before), splitLines(after))
	var out strings.Builder
	out.WriteString(head)
	for start := 0; start < len(lines); {
		if lines[start].sign == ' ' {
			start++
			continue
		}
		from := max(0, start-context)
		end, equal := start, 0
		for i := start; i < len(lines) && equal <= 2*context; i++ {
			if equal++; lines[i].sign != ' ' {
				equal, end = 0, i+1
			}
		}
		writeHunk(&out, lines, from, min(len(lines), end+context))
		start = end
	}
	return out.String()
}

// edit is a line of a difference: kept (' '), removed ('-') or added ('+').
type edit struct {
	sign byte
	text string
}

func writeHunk(out *strings.Builder, lines []edit, from, to int) {
	before, after := 1, 1
	for _, l := range lines[:from] {
		before, after = before+count(l.sign != '+'), after+count(l.sign != '-')
	}
	was, is := 0, 0
	for _, l := range lines[from:to] {
		was, is = was+count(l.sign != '+'), is+count(l.sign != '-')
	}
	fmt.Fprintf(out, "@@ -%d,%d +%d,%d @@\n", before-count(was == 0), was, after-count(is == 0), is)
	for _, l := range lines[from:to] {
		out.WriteByte(l.sign)
		out.WriteString(l.text)
		if !strings.HasSuffix(l.text, "\n") {
			out.WriteString("\n\\ No newline at end of file\n")
		}
	}
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}

func splitLines(text []byte) (lines []string) {
	for line := range strings.Lines(string(text)) {
		lines = append(lines, line)
	}
	return lines
}

// edits returns a shortest sequence of edits (Myers, An O(ND) Difference Algorithm, 1986), as long
// as it has at most maxEdits.
func edits(a, b []string) (out []edit) {
	var head, tail []edit
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		head = append(head, edit{' ', a[0]})
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		tail = append(tail, edit{' ', a[len(a)-1]})
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	out = append(head, middle(a, b)...)
	for i := len(tail) - 1; i >= 0; i-- {
		out = append(out, tail[i])
	}
	return out
}

func middle(a, b []string) (out []edit) {
	limit := min(len(a)+len(b), maxEdits)
	reach := make([]int, 2*limit+3) // how far into a each diagonal gets
	var trace [][]int
	for d := 0; d <= limit; d++ {
		trace = append(trace, append([]int(nil), reach...))
		for k := -d; k <= d; k += 2 {
			x := reach[limit+1+k-1] + 1
			if k == -d || k != d && reach[limit+1+k-1] < reach[limit+1+k+1] {
				x = reach[limit+1+k+1]
			}
			for x < len(a) && x-k < len(b) && a[x] == b[x-k] {
				x++
			}
			if reach[limit+1+k] = x; x >= len(a) && x-k >= len(b) {
				return backtrack(a, b, trace, limit)
			}
		}
		if d*len(reach) > 1<<22 { // the trace would take too much memory
			break
		}
	}
	for _, l := range a {
		out = append(out, edit{'-', l})
	}
	for _, l := range b {
		out = append(out, edit{'+', l})
	}
	return out
}

// backtrack follows the trace from the end to the beginning.
func backtrack(a, b []string, trace [][]int, limit int) []edit {
	var reversed []edit
	x, y := len(a), len(b)
	for d := len(trace) - 1; d >= 0; d-- {
		reach, k := trace[d], x-y
		prev := k - 1
		if k == -d || k != d && reach[limit+1+k-1] < reach[limit+1+k+1] {
			prev = k + 1
		}
		fromX := reach[limit+1+prev]
		fromY := fromX - prev
		if d == 0 {
			fromX, fromY = 0, 0
		}
		for x > fromX && y > fromY {
			x, y = x-1, y-1
			reversed = append(reversed, edit{' ', a[x]})
		}
		switch {
		case d == 0:
		case x > fromX:
			x--
			reversed = append(reversed, edit{'-', a[x]})
		default:
			y--
			reversed = append(reversed, edit{'+', b[y]})
		}
	}
	for i, j := 0, len(reversed)-1; i < j; i, j = i+1, j-1 {
		reversed[i], reversed[j] = reversed[j], reversed[i]
	}
	return reversed
}
