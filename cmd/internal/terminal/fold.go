package terminal

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// TextWidth is the width of what is printed for people, in characters, unless COLUMNS says
// another, as for programs that search the output.
const TextWidth = 100

// wholeLine matches the lines that Fold does not break, since they are copied: commands, and
// lines of a configuration.
var wholeLine = regexp.MustCompile(`^\s*((?:\S*/|'.*/)?mcp-jail'? |sudo |\[|"|[a-z_]+ = )`)

// escape matches what sets a colour. It takes no room.
var escape = regexp.MustCompile("\x1b\\[[0-9;]*m")

// Fold breaks lines of more than width characters between words. What is broken off stands
// four columns further to the right than its line. Words that are longer stay whole, where they are,
// and so do commands and lines of a configuration that have a line of their own.
func Fold(text string, width int) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if visible(line) > width && !wholeLine.MatchString(line) {
			lines[i] = foldLine(line, width)
		}
	}
	return strings.Join(lines, "\n")
}

// ShortHome writes the home directory as "~" wherever a path in a text begins with it, but for
// the values of variables.
func ShortHome(text, home string) string {
	if home == "/" || home == "" || !strings.Contains(text, home) {
		return text
	}
	return regexp.MustCompile(`(^|[^\w./=-])`+regexp.QuoteMeta(home)+`/`).ReplaceAllString(text, "${1}~/")
}

// messagePrefix stands before each line of a session's messages.
const messagePrefix = "mcp-jail: "

// FoldMessages is Fold for the messages of a session. What has a line of its own there, behind the
// prefix, stays whole as well.
func FoldMessages(text string) string {
	width := TextColumns()
	lines := strings.Split(ShortHome(text, os.Getenv("HOME")), "\n")
	for i, line := range lines {
		if rest, ok := strings.CutPrefix(line, messagePrefix); ok && wholeLine.MatchString(rest) {
			continue
		}
		lines[i] = Fold(line, width)
	}
	return strings.Join(lines, "\n")
}

func foldLine(line string, width int) string {
	body := strings.TrimLeft(line, " ")
	indent := line[:len(line)-len(body)]
	var b strings.Builder
	open := indent
	for i, word := range strings.Split(body, " ") { // several spaces make empty words, which keep columns
		switch {
		case i == 0:
			open += word
		case visible(open)+1+visible(word) > width && word != "" && len(indent)+4+visible(word) <= width:
			b.WriteString(strings.TrimRight(open, " ") + "\n")
			open = indent + "    " + word
		default:
			open += " " + word
		}
	}
	return b.String() + strings.TrimRight(open, " ")
}

// visible returns how many characters of a line are seen.
func visible(line string) int { return utf8.RuneCountInString(escape.ReplaceAllString(line, "")) }

// TextColumns returns the width of what is printed for people: TextWidth or COLUMNS.
func TextColumns() int {
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n >= minWidth {
		return n
	}
	return TextWidth
}

// PrintText prints text for people to Out, folded.
func (c Console) PrintText(text string) { c.Printf("%s", Fold(text, TextColumns())) }
