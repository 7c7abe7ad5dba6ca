package explain

import (
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"
)

// link matches a link. Text shows the words of a link and not its address.
var link = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\[([^\]]*)\]\(([^)\s]*)\)`) })

// Text returns the page as plain text in lines of at most width characters. Lines of code
// and words that are longer stay whole. bold marks headings.
func (p page) Text(width int, bold func(string) string) string {
	var b strings.Builder
	b.WriteString(bold(p.Name+": "+p.Title) + "\n")
	var open []string // lines of the paragraph or the item that is being read
	flush := func() {
		if len(open) > 0 {
			text := link().ReplaceAllString(strings.Join(open, " "), "$1")
			b.WriteString(wrap(strings.ReplaceAll(text, "**", ""), width))
		}
		open = nil
	}
	code := false
	for line := range strings.Lines(p.body) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, "```"):
			flush()
			code = !code
		case code:
			b.WriteString(strings.TrimRight("    "+line, " ") + "\n")
		case strings.HasPrefix(line, "## "):
			flush()
			b.WriteString(bold(line[3:]) + "\n")
		case strings.TrimSpace(line) == "":
			flush()
			b.WriteString("\n")
		case strings.HasPrefix(line, "- "):
			flush()
			open = []string{line}
		default:
			open = append(open, strings.TrimSpace(line))
		}
	}
	flush()
	return b.String()
}

// word matches a word. A piece of code is one, since users copy it.
var word = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("(?:[^\\s`]|`[^`]*`)+|`") })

// wrap breaks text between words into lines of at most width characters. Lines of an item
// after the first are indented.
func wrap(text string, width int) string {
	indent := ""
	if strings.HasPrefix(text, "- ") {
		indent = "  "
	}
	var b strings.Builder
	line := ""
	for i, word := range word().FindAllString(text, -1) {
		switch {
		case i == 0:
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width:
			b.WriteString(line + "\n")
			line = indent + word
		default:
			line += " " + word
		}
	}
	return b.String() + line + "\n"
}
