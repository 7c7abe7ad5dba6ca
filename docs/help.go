// Package docs has the help topics: for each kind of failure what a user sees, what it means,
// what to do, and when not to do it. `mcp-jail help NAME` prints one, and every diagnosis
// names one (diagnostics.Page).
//
// A topic is a section of help.md whose heading is its name. Its first line is its title, and
// its first block is an example, which the scripts in cmd/mcp-jail/testdata/explain make. The
// name of a topic never changes, because records and messages have it.
//
// Text understands the Markdown that topics use: paragraphs, lists of one level, blocks of
// code, links. It understands no tables and no quotes.
package docs

import (
	_ "embed"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"
)

//go:embed help.md
var helpFile string

// Topic is a section of help.md.
type Topic struct {
	Name  string
	Title string // one line
	body  string // Markdown, without the title
}

// Topics returns all topics, sorted by their names.
func Topics() (topics []Topic) {
	for _, section := range strings.Split(helpFile, "\n## ")[1:] {
		name, rest, _ := strings.Cut(section, "\n\n")
		title, body, _ := strings.Cut(rest, "\n")
		topics = append(topics, Topic{name, strings.TrimSuffix(title, "."), body})
	}
	return topics
}

// Find returns the topic with a name.
func Find(name string) (t Topic, ok bool) {
	for _, t := range Topics() {
		if t.Name == name {
			return t, true
		}
	}
	return t, false
}

// link matches a link. Text shows the words of a link and not its address.
var link = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\[([^\]]*)\]\(([^)\s]*)\)`) })

// Text returns the topic as plain text in lines of at most width characters. Commands, rules and
// words that are longer stay whole. bold marks the title.
func (t Topic) Text(width int, bold func(string) string) string {
	var b strings.Builder
	b.WriteString(bold(t.Name+": "+t.Title) + "\n")
	var open []string // lines of the paragraph, the item or the message that is being read
	language, code := "", false
	flush := func() {
		switch text := strings.Join(open, " "); {
		case text == "":
		case code && utf8.RuneCountInString(text)+4 <= width:
			b.WriteString("    " + text + "\n")
		case code:
			b.WriteString(wrap("    "+text, width))
		default:
			b.WriteString(wrap(strings.ReplaceAll(link().ReplaceAllString(text, "$1"), "**", ""), width))
		}
		open = nil
	}
	for line := range strings.Lines(t.body) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, "```"):
			flush()
			language, code = line[3:], !code
		case code && language == "text" && strings.HasPrefix(line, "      "):
			open = append(open, strings.TrimSpace(line))
		case code && language == "text":
			flush()
			open = []string{line}
		case code:
			b.WriteString(strings.TrimRight("    "+line, " ") + "\n")
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

// wrap breaks text between words into lines of at most width characters. Lines after the first are
// indented: those of an item, and those of a line that is indented itself.
func wrap(text string, width int) string {
	indent, first := "", text[:len(text)-len(strings.TrimLeft(text, " "))]
	switch {
	case strings.HasPrefix(text, "- "):
		indent = "  "
	case first != "":
		indent = first + "      "
	}
	var b strings.Builder
	line := ""
	for i, word := range word().FindAllString(text, -1) {
		switch {
		case i == 0:
			line = first + word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width:
			b.WriteString(line + "\n")
			line = indent + word
		default:
			line += " " + word
		}
	}
	return b.String() + line + "\n"
}
