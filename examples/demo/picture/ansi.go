package main

import (
	"regexp"
	"strconv"
	"strings"
)

// style is the look of a piece of text. colour is the number of an ANSI colour from 1 to 7, or 0 for the default.
type style struct {
	bold, dim bool
	colour    int
}

// span is text of one style at a column. It has no two adjacent spaces: a renderer folds them, and another font would
// shift the text after them. So text after several spaces is a span with its own column.
type span struct {
	column int
	text   string
	style  style
}

var escape = regexp.MustCompile("\x1b\\[([0-9;?]*)([@-~])|\x1b.?")

const tab = 8

// parse turns the output of a terminal program into lines of spans. It knows colours, bold and dim, and drops
// other sequences.
func parse(text string) (lines [][]span) {
	var s style
	for line := range strings.Lines(text) {
		var spans []span
		column := 0
		for rest := strings.TrimRight(line, "\r\n"); rest != ""; {
			at := escape.FindStringSubmatchIndex(rest)
			if at == nil {
				at = []int{len(rest), len(rest), -1, -1, -1, -1}
			}
			spans, column = place(spans, column, rest[:at[0]], s)
			if at[4] >= 0 && rest[at[4]:at[5]] == "m" {
				s = s.after(rest[at[2]:at[3]])
			}
			rest = rest[at[1]:]
		}
		lines = append(lines, spans)
	}
	return lines
}

// place appends text that begins at column and returns the column after it.
func place(spans []span, column int, text string, s style) ([]span, int) {
	var word []rune
	begin, spaces := column, 0
	flush := func() {
		if len(word) > 0 {
			spans = append(spans, span{begin, string(word), s})
		}
		word = nil
	}
	for _, r := range text {
		switch {
		case r == '\t':
			spaces += 2 // never part of a word
			column += tab - column%tab
			continue
		case r == ' ':
			spaces++
			column++
			continue
		case r < ' ':
			continue
		}
		if spaces > 1 || len(word) == 0 {
			flush()
			begin = column
		} else if spaces == 1 {
			word = append(word, ' ')
		}
		word, spaces = append(word, r), 0
		column++
	}
	flush()
	return spans, column
}

// after returns the style after an SGR sequence with the given parameters.
func (s style) after(parameters string) style {
	for parameter := range strings.SplitSeq(parameters, ";") {
		number, _ := strconv.Atoi(parameter) // none is 0
		switch {
		case number == 0:
			s = style{}
		case number == 1:
			s.bold = true
		case number == 2:
			s.dim = true
		case number == 22:
			s.bold, s.dim = false, false
		case number >= 31 && number <= 37:
			s.colour = number - 30
		case number >= 91 && number <= 97:
			s.colour = number - 90
		case number == 39:
			s.colour = 0
		}
	}
	return s
}
