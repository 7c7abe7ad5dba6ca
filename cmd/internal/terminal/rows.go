package terminal

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// leastText is the width of a second column below which it gets lines of its own.
const leastText = 28

// Table returns a heading with rows of two columns below it.
func Table(heading string, rows [][2]string, width int) string {
	return "\n" + heading + ":\n" + Rows(rows, width)
}

// mostLeft is the most characters of a first column. A longer one pushes only its own text aside.
const mostLeft = 26

// Rows returns rows of two columns.
func Rows(rows [][2]string, width int) string {
	left := 0
	for _, r := range rows {
		if n := utf8.RuneCountInString(r[0]) + 2; n <= mostLeft {
			left = max(left, n)
		}
	}
	var b strings.Builder
	for _, r := range rows {
		if width-left < leastText {
			b.WriteString(r[0] + "\n" + Item("", strings.Repeat(" ", 10), r[1], width))
			continue
		}
		first := fmt.Sprintf("%-*s", left, r[0])
		if utf8.RuneCountInString(r[0]) >= left {
			first = r[0] + "  "
		}
		b.WriteString(Item(first, strings.Repeat(" ", left), r[1], width))
	}
	return b.String()
}

// Item writes a text in lines of at most width characters. The first begins with first, and all
// others with rest. If both leave too little room, rest is shorter.
func Item(first, rest, text string, width int) string {
	if width-len(rest) < leastText {
		rest = rest[:min(len(rest), 8)]
	}
	return strings.TrimRight(Hang(first, rest, text, width), " ") + "\n"
}
