package cli

import (
	"cmp"
	"strings"
	"unicode/utf8"

	"github.com/mcp-jail/mcp-jail/internal/show"
)

// A Cell is a text in a table. If the column is too narrow, the cell has Short in place of Text, and
// then the beginning of that.
type Cell struct{ Text, Short string }

// Words returns a cell with a text that others may have written, or with "-" for none. Its short form
// is the name of a package without its scope.
func Words(text string) Cell {
	c := Cell{Text: cmp.Or(show.Line(text), "-")}
	if strings.HasPrefix(c.Text, "@") {
		_, c.Short, _ = strings.Cut(c.Text, "/")
	}
	return c
}

// Heading returns the first row of a table.
func Heading(names ...string) (row []Cell) {
	for _, name := range names {
		row = append(row, Cell{Text: name})
	}
	return row
}

func (c Cell) in(width int) string {
	text := c.Text
	if utf8.RuneCountInString(text) > width {
		text = cmp.Or(c.Short, text)
	}
	return Clip(text, width)
}

// Columns aligns rows. If a line is too long, columns shrink in the given order, each at most to
// its least width. If that is not enough, the columns without a least width show the short forms of
// their cells, and then the least widths are halved.
func Columns(rows [][]Cell, width int, least map[int]int, order []int) string {
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
	// Names first: their beginnings say most.
	for _, i := range order {
		shrink(i, least[i])
	}
	// Then times, which keep their figures.
	for i := range widths {
		if least[i] == 0 {
			shrink(i, shortWidth(rows, i))
		}
	}
	for _, i := range order {
		shrink(i, least[i]/2)
	}
	var b strings.Builder
	for _, r := range rows {
		line := ""
		for i, cell := range r {
			text := cell.in(widths[i])
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(text))
			if i == len(r)-1 { // sizes
				text, pad = pad+text, ""
			}
			line += text + pad + "  "
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

func widthsOf(rows [][]Cell) []int {
	widths := make([]int, len(rows[0]))
	for _, r := range rows {
		for i, cell := range r {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell.Text))
		}
	}
	return widths
}

func shortWidth(rows [][]Cell, column int) (width int) {
	for _, r := range rows {
		width = max(width, utf8.RuneCountInString(cmp.Or(r[column].Short, r[column].Text)))
	}
	return width
}

// Least widths of the columns of names, which shrink until the table fits.
const (
	RunsWidth  = 16
	NameWidth  = 20
	OtherWidth = 12
)
