package main

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Measures in pixels. A column is wide enough for the common monospaced fonts, whose characters are 0.55 to 0.61 em.
const (
	fontSize   = 14
	columnWide = 8.43
	lineHigh   = 20
	margin     = 20
	barHigh    = 36
	narrowest  = 60 // columns
)

// The colours of the eight ANSI colours from red on, for a dark window.
var colours = [8]string{"", "#ff7b72", "#7ee787", "#e3b341", "#79c0ff", "#d2a8ff", "#76e3ea", "#f0f6fc"}

// draw returns a window with a title and the lines. The file refers to no other file.
func draw(title string, lines [][]span) []byte {
	for len(lines) > 0 && len(lines[len(lines)-1]) == 0 {
		lines = lines[:len(lines)-1]
	}
	columns := narrowest
	for _, line := range lines {
		for _, r := range line {
			columns = max(columns, r.column+utf8.RuneCountInString(r.text))
		}
	}
	wide, high := int(float64(columns)*columnWide)+2*margin, barHigh+len(lines)*lineHigh+margin

	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-label="%s">`+"\n",
		wide, high, wide, high, escaped(title))
	fmt.Fprintf(&b, "<style>text{font:%dpx ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#c9d1d9}.b{font-weight:bold;fill:#f0f6fc}.d{fill:#8b949e}", fontSize)
	for number, colour := range colours {
		if colour != "" {
			fmt.Fprintf(&b, ".c%d{fill:%s}", number, colour)
		}
	}
	b.WriteString("</style>\n")
	fmt.Fprintf(&b, `<rect width="%d" height="%d" rx="8" fill="#0d1117"/>`+"\n", wide, high)
	for i, colour := range []string{"#ff5f57", "#febc2e", "#28c840"} {
		fmt.Fprintf(&b, `<circle cx="%d" cy="18" r="6" fill="%s"/>`, margin+i*20, colour)
	}
	fmt.Fprintf(&b, "\n"+`<text x="%d" y="23" text-anchor="middle" class="d">%s</text>`+"\n", wide/2, escaped(title))
	for number, line := range lines {
		if len(line) == 0 {
			continue
		}
		fmt.Fprintf(&b, `<text y="%d">`, barHigh+(number+1)*lineHigh-4)
		for _, r := range line {
			fmt.Fprintf(&b, `<tspan x="%.4g"%s>%s</tspan>`, margin+float64(r.column)*columnWide, r.style.class(), escaped(r.text))
		}
		b.WriteString("</text>\n")
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

func (s style) class() string {
	var names []string
	if s.bold {
		names = append(names, "b")
	}
	if s.dim {
		names = append(names, "d")
	}
	if s.colour > 0 && s.colour < len(colours) {
		names = append(names, fmt.Sprintf("c%d", s.colour))
	}
	if len(names) == 0 {
		return ""
	}
	return ` class="` + strings.Join(names, " ") + `"`
}

func escaped(text string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(text)) // a buffer takes everything
	return b.String()
}
