package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// transcript prints the demonstration: one line for each step and one for its outcome. Colours repeat what the words say.
type transcript struct {
	out   io.Writer
	color bool
}

type ink string

const (
	plain  ink = ""
	bold   ink = "1"
	dim    ink = "2"
	red    ink = "31"
	green  ink = "32"
	yellow ink = "33"
	cyan   ink = "36"
)

// width fits into a narrow terminal and a picture.
const width = 92

func (p transcript) in(i ink, text string) string {
	if !p.color || i == plain || text == "" {
		return text
	}
	return "\x1b[" + string(i) + "m" + text + "\x1b[0m"
}

func (p transcript) line(format string, a ...any) {
	fmt.Fprintln(p.out, strings.TrimRight(fmt.Sprintf(format, a...), " "))
}

func (p transcript) heading(number int, text, more string) {
	p.line("")
	p.line("%s %s%s", p.in(cyan, fmt.Sprint(number)), p.in(bold, text), p.in(dim, more))
}

func (p transcript) command(text string) { p.line("  %s %s", p.in(dim, "$"), p.in(dim, text)) }

// step prints a call: whether it worked, the question, the answer.
func (p transcript) step(ok bool, asked, said string) {
	const column = 16
	mark := p.in(green, "✓")
	if !ok {
		mark = p.in(yellow, "✗")
	}
	p.line("  %s %s %s", mark, pad(asked, column), cut(oneLine(said), width-column-5))
}

func (p transcript) aside(i ink, text string) {
	for line := range strings.Lines(text) {
		p.line("      %s", p.in(i, cut(strings.TrimRight(line, "\n"), width-6)))
	}
}

// oneLine returns the first line of text that is neither a heading nor empty.
func oneLine(text string) string {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return line
		}
	}
	return strings.TrimSpace(text)
}

func pad(text string, columns int) string {
	return text + strings.Repeat(" ", max(0, columns-utf8.RuneCountInString(text)))
}

func cut(text string, columns int) string {
	if runes := []rune(text); len(runes) > columns {
		return string(runes[:columns-1]) + "…"
	}
	return text
}
