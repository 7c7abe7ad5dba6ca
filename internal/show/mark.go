package show

import (
	"strings"
	"unicode/utf8"
)

// mark begins a block of mcp-jail's own in a result, and prefix a line of its own.
const (
	mark   = "[mcp-jail"
	prefix = "mcp-jail:"
)

// isMark reports whether s, whose first character is r, begins with the mark.
func isMark(r rune, s string) bool {
	return r == '[' && len(s) >= len(mark) && strings.EqualFold(s[:len(mark)], mark)
}

// escapeMark replaces the bracket of each mark by "(".
func escapeMark(s string) string {
	if !strings.Contains(s, "[") {
		return s
	}
	var b strings.Builder
	done := 0
	for i, r := range s {
		if isMark(r, s[i:]) {
			b.WriteString(s[done:i] + "(")
			done = i + 1
		}
	}
	return b.String() + s[done:]
}

// Imitates reports whether a line begins as mcp-jail's own do: with its name and a colon, or with the mark. Blanks,
// case, and what does not show make no difference. Letters that look alike do: on a terminal the line is behind
// a [Bar].
func Imitates(s string) bool {
	if !isPlain(s) {
		s = strings.ReplaceAll(visible(s, func(string) bool { return false }), string(utf8.RuneError), "")
	}
	s = strings.ToLower(strings.TrimLeft(s, " "))
	return strings.HasPrefix(s, prefix) || strings.HasPrefix(s, mark)
}

// Bar is before each row of a server's words on a terminal, and in text of mcp-jail's own. ASCIIBar is the same for a
// pipe, and for a terminal that may not show the other.
const (
	Bar      = "│ "
	ASCIIBar = "| "
)

const barWidth = 2 // columns of a bar

// IsRow reports whether a line is one of [Rows].
func IsRow(line string) bool {
	return strings.HasPrefix(line, Bar) || strings.HasPrefix(line, ASCIIBar)
}

// Rows returns a server's words, as [Line] shows them, in rows that begin with bar. A terminal of that many columns
// breaks none of the rows, so that each of its own rows has the bar, too. With 0 columns only line ends begin rows. A
// terminal needs one or two columns for a character beyond ASCII: Rows counts two.
func Rows(text, bar string, columns int) string {
	most := max(columns-barWidth-1, 2)
	if columns == 0 {
		most = len(text) * 8
	}
	var rows []string
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		line = Line(strings.ReplaceAll(line, "\t", "    "))
		for {
			n := fitting(line, most)
			rows = append(rows, bar+line[:n])
			if line = line[n:]; line == "" {
				break
			}
		}
	}
	return strings.Join(rows, "\n")
}

// fitting returns how many bytes at the start of a line fit into columns. Where it can, the row ends after a blank.
func fitting(line string, columns int) int {
	width, blank := 0, 0
	for i, r := range line {
		if width++; r >= utf8.RuneSelf {
			width++
		}
		if width > columns {
			if blank > 0 {
				return blank
			}
			return i
		}
		if r == ' ' {
			blank = i + 1
		}
	}
	return len(line)
}
