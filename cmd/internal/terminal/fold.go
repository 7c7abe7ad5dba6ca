package terminal

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcp-jail/mcp-jail/internal/show"
)

// textWidth is the greatest width of text for people, in characters. COLUMNS sets another: with a
// large number, each message stays on one line.
const textWidth = 100

// wholeLine matches the lines that Fold does not break, because users copy them: commands, also
// after a label, flags, and lines of a configuration.
var wholeLine = show.Pattern(`^\s*((?:\S*/|'.*/)?mcp-jail'? |sudo |\[|"|[a-z_]+ = |[a-zA-Z]+: \[|[A-Z][a-z ]*:? {2,}|flags to add: |\{)`)

// prose matches the end of a sentence, which may begin as a command does: "mcp-jail does not …".
var prose = show.Pattern(`[\pL\d"')][.:]$`)

// jsonLine matches lines of JSON, in which nothing replaces a "~".
var jsonLine = show.Pattern(`^\s*(\{|"[A-Za-z]+": )`)

// escape matches the sequences that set a colour. They take no room on the screen.
var escape = show.Pattern("\x1b\\[[0-9;]*m")

// Fold breaks lines of more than width characters between words. The rest of a line is four
// columns further to the right than its beginning. A word that is too long for a line stays
// whole, where it is.
//
// Text that users copy stays whole too: commands and lines of a configuration that have a line of
// their own, commands after two spaces, text in single quotation marks or backquotes, paths in
// double quotation marks, and a flag with its value.
func Fold(text string, width int) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if visible(line) > width && isFolded(line) {
			lines[i] = foldLine(line, width)
		}
	}
	return strings.Join(lines, "\n")
}

// isFolded reports whether Fold breaks a line that is too long.
func isFolded(line string) bool {
	return !show.IsRow(line) && (!wholeLine().MatchString(line) || prose().MatchString(line))
}

func foldLine(line string, width int) string {
	body := strings.TrimLeft(line, " ")
	indent := line[:len(line)-len(body)]
	return Hang(indent, indent+"    ", body, width)
}

// foldFor is Fold for a stream. On a terminal it shows a quotation that the terminal or Fold would break in rows with a
// bar: its words may be a server's.
func foldFor(f *os.File, text string) string { return foldWithin(f, text, textColumns(f)) }

// foldWithin is foldFor for lines of a width.
func foldWithin(f *os.File, text string, width int) string {
	if !isTerminal(f) {
		return Fold(text, width)
	}
	least := width
	if n := columns(f); n > 0 {
		least = min(least, n)
	}
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		if visible(line) <= least || !isFolded(line) {
			out = append(out, line)
			continue
		}
		indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
		for {
			own, said, rest := cutQuotation(line)
			out = append(out, foldLine(own, width))
			if said == "" {
				break
			}
			out = append(out, rows(said, f))
			if rest = strings.TrimLeft(rest, " .,:;)"); rest == "" {
				break
			}
			line = indent + rest
		}
	}
	return strings.Join(out, "\n")
}

// cutQuotation cuts a line around the first text in double quotation marks that has a blank, or is long. Without one,
// own is the line.
func cutQuotation(line string) (own, said, rest string) {
	for at := 0; ; at++ {
		i := strings.IndexByte(line[at:], '"')
		if i < 0 {
			return line, "", ""
		}
		at += i
		quoted, err := strconv.QuotedPrefix(line[at:])
		if err != nil {
			continue
		}
		end := at + len(quoted)
		if said, err = strconv.Unquote(quoted); err == nil && said != "" && (strings.Contains(said, " ") || len(said) > minWidth/2) {
			return strings.TrimRight(line[:at], " ("), said, line[end:]
		}
		at = end - 1
	}
}

// Hang breaks one line as Fold does. The line begins with first, and each further one with rest.
func Hang(first, rest, body string, width int) string {
	var b strings.Builder
	open, length := []byte(first), visible(first)
	for i, word := range unbroken(body) {
		n := visible(word)
		switch {
		case i == 0:
			open, length = append(open, word...), length+n
		// A word that is longer than a line stays where it is: a new line would not help.
		case length+1+n > width && (word == "" || len(rest)+n <= width):
			b.Write(bytes.TrimRight(open, " "))
			b.WriteByte('\n')
			open, length = append(append(open[:0], rest...), word...), len(rest)+n
		default:
			open, length = append(append(open, ' '), word...), length+1+n
		}
	}
	b.Write(bytes.TrimRight(open, " "))
	return b.String()
}

// unbroken divides a text at the spaces where Fold may break it. Several spaces make empty words,
// which keep columns.
func unbroken(text string) (parts []string) {
	for done := false; !done; {
		end := wordEnd(text)
		if n := len(parts); n > 0 && parts[n-1] == "" && strings.HasPrefix(text, "mcp-jail ") {
			end = len(text) // a command, which two spaces set apart
		}
		if n := len(parts); n > 0 && isFlag(parts[n-1]) {
			parts[n-1] += " " + text[:end]
		} else {
			parts = append(parts, text[:end])
		}
		if done = end == len(text); !done {
			text = text[end+1:]
		}
	}
	return parts
}

// wordEnd returns where the first word of a text ends. Text in single quotation marks or
// backquotes is one word, and so is a path in double quotation marks.
func wordEnd(text string) int {
	end := strings.IndexByte(text, ' ')
	if end < 0 {
		return len(text)
	}
	at := strings.IndexAny(text[:end], "'`\"")
	if at >= 0 && text[at] == '"' && strings.IndexAny(text[at+1:], "/~") != 0 {
		return end // the words of a server, and not a path
	}
	if at < 0 || at > 0 && text[at-1] != '(' && text[at-1] != '=' {
		return end
	}
	closing := strings.IndexByte(text[at+1:], text[at])
	if closing < 0 || at+1+closing < end || text[at] == '"' && closing > textWidth-20 {
		return end // no quotation, or one that the terminal itself would break
	}
	rest := at + 1 + closing
	if end = strings.IndexByte(text[rest:], ' '); end < 0 {
		return len(text)
	}
	return rest + end
}

func isFlag(word string) bool {
	return strings.HasPrefix(word, "--") && len(word) > 2 && !strings.Contains(word, " ")
}

// ShortHome writes the home directory as "~" wherever a path in a text begins with it. It leaves
// the values of variables, and paths in single quotation marks or a line of JSON, where nothing would
// replace the "~".
func ShortHome(text, home string) string {
	if home = strings.TrimRight(home, "/"); !strings.HasPrefix(home, "/") || !strings.Contains(text, home) {
		return text
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if !jsonLine().MatchString(line) {
			lines[i] = shortHome(line, home)
		}
	}
	return strings.Join(lines, "\n")
}

func shortHome(text, home string) string {
	var b strings.Builder
	for {
		at := strings.Index(text, home+"/")
		if at < 0 {
			return b.String() + text
		}
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		b.WriteString(text[:at])
		// Otherwise it is the end of a longer path or word, or a value.
		if at == 0 && b.Len() == 0 || at > 0 && !strings.ContainsRune("._/=-'", before) && !unicode.IsLetter(before) && !unicode.IsDigit(before) {
			b.WriteString("~/")
		} else {
			b.WriteString(home + "/")
		}
		text = text[at+len(home)+1:]
	}
}

// messagePrefix is before each line of a session's messages.
const messagePrefix = "mcp-jail: "

// FoldMessages applies foldFor and ShortHome to the messages of a session, at the width of Err. Each row
// has the prefix, or the bar of a server's words.
func (c Console) FoldMessages(text string) string {
	width := textColumns(c.err) - len(messagePrefix)
	var out []string
	for _, line := range strings.Split(text, "\n") {
		rest, ok := strings.CutPrefix(line, messagePrefix)
		if !ok {
			out = append(out, line)
			continue
		}
		if said := strings.TrimLeft(rest, " "); !strings.HasPrefix(said, "The server said: ") {
			rest = ShortHome(rest, os.Getenv("HOME"))
		}
		for _, folded := range strings.Split(foldWithin(c.err, rest, width), "\n") {
			if !show.IsRow(folded) {
				folded = messagePrefix + folded
			}
			out = append(out, folded)
		}
	}
	return strings.Join(out, "\n")
}

func visible(line string) int { return utf8.RuneCountInString(escape().ReplaceAllString(line, "")) }

// TextColumns returns the width of text for people: COLUMNS if it is large enough, else
// textWidth.
func TextColumns() int {
	if n := givenColumns(); n > 0 {
		return n
	}
	return textWidth
}

// givenColumns returns COLUMNS, or 0 if it is not set to a width that is large enough.
func givenColumns() int {
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n >= minWidth {
		return n
	}
	return 0
}

// TextColumns returns the width of text for Out: that of its terminal, but at most textWidth. If
// COLUMNS is set, or Out is no terminal, it returns the result of the function of that name.
func (c Console) TextColumns() int { return textColumns(c.out) }

func textColumns(f *os.File) int {
	if n := columns(f); n > 0 && givenColumns() == 0 {
		return max(minWidth, min(n, textWidth))
	}
	return TextColumns()
}

// TableColumns returns how wide a table for Out may be: as wide as its terminal, or COLUMNS. It
// returns 0 for a pipe or a file, where no cell is cut.
func (c Console) TableColumns() int {
	if n := givenColumns(); n > 0 {
		return n
	}
	return columns(c.out)
}

// PrintText prints text for people to Out, folded.
func (c Console) PrintText(text string) { c.Printf("%s", foldFor(c.out, text)) }

// Bounds of the width of text, in characters.
const (
	minWidth   = 40
	plainWidth = 80 // of help in a pipe
)

// Width returns how many characters a line of help may have: as TextColumns, but 80 if Out is no
// terminal.
func (c Console) Width() int {
	if columns(c.out) == 0 && givenColumns() == 0 {
		return plainWidth
	}
	return c.TextColumns()
}
