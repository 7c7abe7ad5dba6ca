package markdown

import (
	"regexp"
	"strings"
)

// parser is what Parse knows at a line.
type parser struct {
	doc     *Document
	next    int    // the line to read
	blank   bool   // the line before was blank, or ended a block
	item    int    // the column at which the text of the current list item begins
	comment string // the last comment that no block has yet
}

var (
	itemMark       = regexp.MustCompile(`^\s*(?:[-*+]|\d+[.)])\s+`)
	headingMark    = regexp.MustCompile(`^#{1,6}\s+`)
	definitionLine = regexp.MustCompile(`^\s*\[[^\]]+\]:\s`)
)

// step reads one line, or a block of several.
func (p *parser) step() {
	line := p.doc.Lines[p.next]
	trimmed := strings.TrimSpace(line)
	indent := len(line) - len(strings.TrimLeft(line, " "))
	switch {
	case trimmed == "":
		p.blank = true
		p.next++
	case strings.HasPrefix(trimmed, "```"), strings.HasPrefix(trimmed, "~~~"):
		p.fence(indent, trimmed)
	case strings.HasPrefix(trimmed, "<!--"):
		p.skipComment()
	case p.blank && indent >= p.codeIndent(indent):
		p.indented(indent)
	case strings.HasPrefix(trimmed, "|"):
		p.take(Table, trimmed, !p.continues(Table))
	case headingMark.MatchString(line):
		p.item = 0
		p.take(Heading, headingMark.ReplaceAllString(trimmed, ""), true)
		p.blank = true
	case definitionLine.MatchString(line):
		p.take(Definition, trimmed, true)
	default:
		p.text(line, trimmed, indent)
	}
}

// codeIndent returns the column from which a line is code, and ends the list that a line
// does not belong to.
func (p *parser) codeIndent(indent int) int {
	if p.blank && indent < p.item && !itemMark.MatchString(p.doc.Lines[p.next]) {
		p.item = 0
	}
	return p.item + 4
}

func (p *parser) text(line, trimmed string, indent int) {
	mark := itemMark.FindString(line)
	if mark != "" {
		p.item = len(mark)
		trimmed = strings.TrimSpace(line[len(mark):])
	}
	p.take(Text, trimmed, mark != "" || !p.continues(Text))
}

// continues reports whether the line belongs to the block before it.
func (p *parser) continues(k Kind) bool {
	n := len(p.doc.Blocks)
	return !p.blank && n > 0 && p.doc.Blocks[n-1].Kind == k
}

// take adds the line to the last block, or to a new one.
func (p *parser) take(k Kind, text string, fresh bool) {
	if fresh {
		p.add(Block{Kind: k, Line: p.next + 1, Text: text})
	} else {
		last := &p.doc.Blocks[len(p.doc.Blocks)-1]
		last.Text += "\n" + text
	}
	p.blank = false
	p.next++
}

func (p *parser) add(b Block) {
	b.Comment, p.comment = p.comment, ""
	p.doc.Blocks = append(p.doc.Blocks, b)
}

// fence reads a block of code with a fence around it.
func (p *parser) fence(indent int, opening string) {
	b := Block{Kind: Code, Line: p.next + 1, Info: strings.TrimSpace(strings.TrimLeft(opening, "`~"))}
	var lines []string
	for p.next++; p.next < len(p.doc.Lines); p.next++ {
		line := p.doc.Lines[p.next]
		if strings.HasPrefix(strings.TrimSpace(line), opening[:3]) {
			break
		}
		lines = append(lines, line[min(indent, len(line)-len(strings.TrimLeft(line, " "))):])
	}
	p.next++
	for _, line := range lines {
		b.Text += line + "\n"
	}
	p.add(b)
	p.blank = true
}

// indented reads a block of code that is indented. Blank lines inside it belong to it.
func (p *parser) indented(indent int) {
	b := Block{Kind: Code, Line: p.next + 1, Indented: true}
	var lines []string
	for ; p.next < len(p.doc.Lines); p.next++ {
		line := p.doc.Lines[p.next]
		if strings.TrimSpace(line) != "" && len(line)-len(strings.TrimLeft(line, " ")) < indent {
			break
		}
		lines = append(lines, line[min(indent, len(line)):])
	}
	b.Text = strings.TrimRight(strings.Join(lines, "\n"), "\n") + "\n"
	p.add(b)
	p.blank = true
}

func (p *parser) skipComment() {
	var lines []string
	for ; p.next < len(p.doc.Lines); p.next++ {
		lines = append(lines, p.doc.Lines[p.next])
		if strings.Contains(p.doc.Lines[p.next], "-->") {
			p.next++
			break
		}
	}
	text := strings.TrimSpace(strings.Join(lines, "\n"))
	p.comment = strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(text, "<!--"), "-->"))
	p.blank = true
}
