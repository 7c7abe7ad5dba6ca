package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/show"
)

// A Cell is a text in a table. If the column is too narrow, the cell has Short in place of Text. It
// goes on in the next lines where there are blanks, unless it is whole, and what is still too long is
// cut, with "…".
type Cell struct {
	Text, Short string
	whole       bool
	right       bool
}

// Words returns a cell with a text that others may have written, or with "-" for none. Its short form
// is the name of a package without its scope.
func Words(text string) Cell {
	c := Cell{Text: cmp.Or(show.Line(text), "-")}
	if strings.HasPrefix(c.Text, "@") {
		_, c.Short, _ = strings.Cut(c.Text, "/")
	}
	return c
}

// parts divides a text where a line may end: after blanks, and in a word that is wider than a line,
// after "/" and "-".
func parts(text string, width int) (all []string) {
	for word := range strings.SplitAfterSeq(text, " ") {
		if utf8.RuneCountInString(word) <= width {
			all = append(all, word)
			continue
		}
		for len(word) > 0 {
			end := 1 + strings.IndexAny(word[1:], "/-")
			if end == 0 || end+1 >= len(word) {
				end = len(word) - 1
			}
			all, word = append(all, word[:end+1]), word[end+1:]
		}
	}
	return all
}

// Whole returns a cell with a time, which stays on one line.
func Whole(text string) Cell { return Cell{Text: text, whole: true} }

// Amount returns a cell with a size, which stays on one line and is aligned to the right.
func Amount(text string) Cell { return Cell{Text: text, whole: true, right: true} }

// Heading returns the first row of a table.
func Heading(names ...string) (row []Cell) {
	for _, name := range names {
		row = append(row, Cell{Text: name})
	}
	return row
}

// cellLines is how many lines a cell may have: the rest of a long command line is cut.
const cellLines = 3

// lines returns the lines of a cell in a column.
func (c Cell) lines(width int) []string {
	text := c.Text
	if utf8.RuneCountInString(text) > width {
		text = cmp.Or(c.Short, text)
	}
	if utf8.RuneCountInString(text) <= width {
		return []string{text}
	}
	if c.whole {
		return []string{Clip(text, width)}
	}
	var lines []string
	indent := text[:len(text)-len(strings.TrimLeft(text, " "))]
	for i, part := range parts(strings.TrimSpace(text), width) {
		if i == 0 {
			part = indent + part
		}
		n := len(lines)
		if n > 0 && utf8.RuneCountInString(strings.TrimRight(lines[n-1]+part, " ")) <= width {
			lines[n-1] += part
			continue
		}
		if n == cellLines {
			lines[n-1] += part + "…" // for all that follows; it is cut below
			break
		}
		lines = append(lines, part)
	}
	for i := range lines {
		lines[i] = Clip(strings.TrimRight(lines[i], " "), width)
	}
	return lines
}

// Columns aligns rows. If a line is wider than width, columns shrink in the given order, each at
// most to its least width. If that is not enough, the widest column shrinks again and again, a time or
// a size last. With width 0 nothing shrinks.
func Columns(rows [][]Cell, width int, least map[int]int, order []int) string {
	widths := widthsOf(rows)
	if width > 0 {
		shrink(widths, rows, width, least, order)
	}
	var b strings.Builder
	for _, r := range rows {
		writeRow(&b, r, widths)
	}
	return b.String()
}

func shrink(widths []int, rows [][]Cell, width int, least map[int]int, order []int) {
	excess := 2*(len(widths)-1) - width
	for _, w := range widths {
		excess += w
	}
	for _, i := range order { // names first: their beginnings say most
		if less := min(excess, widths[i]-least[i]); less > 0 {
			widths[i], excess = widths[i]-less, excess-less
		}
	}
	for _, whole := range []bool{false, true} { // times and sizes last
		for excess > 0 {
			widest := -1
			for i, w := range widths {
				if rows[len(rows)-1][i].whole == whole && w > leastColumn && (widest < 0 || w > widths[widest]) {
					widest = i
				}
			}
			if widest < 0 {
				break
			}
			widths[widest], excess = widths[widest]-1, excess-1
		}
	}
}

// leastColumn is the width below which a column says nothing.
const leastColumn = 6

// writeRow writes a row in as many lines as its longest cell has.
func writeRow(b *strings.Builder, row []Cell, widths []int) {
	cells, height := make([][]string, len(row)), 0
	for i, cell := range row {
		cells[i] = cell.lines(widths[i])
		height = max(height, len(cells[i]))
	}
	for at := range height {
		line := ""
		for i, cell := range cells {
			text := ""
			if at < len(cell) {
				text = cell[at]
			}
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(text))
			if row[i].right {
				text, pad = pad+text, ""
			}
			line += text + pad + "  "
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
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

// ShortPath writes the home directory as "~".
func ShortPath(path, home string) string {
	if rest, ok := strings.CutPrefix(path, home+"/"); ok && home != "/" {
		return "~/" + rest
	}
	return path
}

// Clip shortens a text to n letters.
func Clip(text string, n int) string {
	if letters := []rune(text); len(letters) > n {
		return string(letters[:n-1]) + "…"
	}
	return text
}

func Truncate(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:n] + "…"
}

// NonNil returns s, or an empty slice for nil, which JSON shows as [] and not null.
func NonNil[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// WriteWrapped writes items separated by commas, in lines of at most width bytes.
func WriteWrapped(b *strings.Builder, indent string, items []string, width int) {
	room := 0
	for i, item := range items {
		item = show.Line(item)
		switch {
		case i == 0, room < len(item)+3: // with the comma after it
			if i > 0 {
				b.WriteString(",\n")
			}
			b.WriteString(indent + item)
			room = width - len(indent) - len(item)
		default:
			b.WriteString(", " + item)
			room -= len(item) + 2
		}
	}
	if len(items) > 0 {
		b.WriteByte('\n')
	}
}

// PrintJSON prints a value, indented. Its type can be encoded.
func PrintJSON(c terminal.Console, v any) {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		panic(err)
	}
	c.Printf("%s\n", show.JSON(b))
}

// WithResult runs a command whose text is for people. With the format json that text goes to standard error, and the result, which
// is complete when the command has run, to standard output.
func WithResult(c terminal.Console, format string, result any, run func(terminal.Console) error) error {
	if format != "json" {
		return run(c)
	}
	err := run(c.Aside())
	if err == nil || errors.As(err, new(terminal.ReportedStatus)) {
		PrintJSON(c, result)
	}
	return err
}

// FalseFirst sorts false before true.
func FalseFirst(b bool) int {
	if b {
		return 1
	}
	return 0
}
