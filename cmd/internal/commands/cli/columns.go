package cli

import (
	"strings"
	"unicode/utf8"
)

// Columns aligns rows. If a line is too long, columns shrink in the given order, each at most to
// its least width. If that is not enough, times lose their "ago", and then the least widths are
// halved.
func Columns(rows [][]string, width int, least map[int]int, order []int) string {
	widths := widthsOf(rows)
	shrink := func(i, to int) {
		total := -2
		for _, w := range widths {
			total += w + 2
		}
		if less := min(total-width, widths[i]-to); less > 0 {
			widths[i] -= less
		}
	}
	for _, i := range order {
		shrink(i, least[i])
	}
	for i := range widths {
		if least[i] == 0 {
			shrink(i, shortTime(rows, i))
		}
	}
	for _, i := range order {
		shrink(i, least[i]/2)
	}
	var b strings.Builder
	for _, r := range rows {
		line := ""
		for i, cell := range r {
			cell = Shorten(cell, widths[i])
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i == len(r)-1 { // sizes
				cell, pad = pad+cell, ""
			}
			line += cell + pad + "  "
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

// widthsOf returns the width of each column.
func widthsOf(rows [][]string) []int {
	widths := make([]int, len(rows[0]))
	for _, r := range rows {
		for i, cell := range r {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	return widths
}

// shortTime returns the width of a column whose times have lost their "ago".
func shortTime(rows [][]string, column int) (width int) {
	for _, r := range rows {
		width = max(width, utf8.RuneCountInString(strings.TrimSuffix(r[column], " ago")))
	}
	return width
}

// Shorten makes a text fit into a column. It takes away the "ago" of a time, then the scope of a
// package, and then the end of the text.
func Shorten(text string, width int) string {
	if utf8.RuneCountInString(text) > width {
		text = strings.TrimSuffix(text, " ago")
	}
	if utf8.RuneCountInString(text) > width && strings.HasPrefix(text, "@") {
		_, text, _ = strings.Cut(text, "/")
	}
	if runes := []rune(text); len(runes) > width {
		return string(runes[:width-1]) + "…"
	}
	return text
}

func OrDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// Least widths of the columns of names, which shrink until the table fits.
const (
	RunsWidth  = 16
	NameWidth  = 20
	OtherWidth = 12
)
