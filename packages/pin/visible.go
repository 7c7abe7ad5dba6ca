package pin

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Visible returns a text for one line on a terminal, of at most max characters and a note of
// how many were left out. Each character that does not show, or that changes how others
// show, is replaced by its number: controls, direction marks, zero-width characters,
// variation selectors, tags. So are « and », with which this package quotes. A newline becomes
// \n and a tab \t. A backslash stays as it is.
func Visible(text string, max int) string {
	var b strings.Builder
	width, left := 0, 0
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		shown := show(r, n)
		i += n
		if width += utf8.RuneCountInString(shown); width > max {
			left = 1 + utf8.RuneCountInString(text[i:])
			break
		}
		b.WriteString(shown)
	}
	if left > 0 {
		fmt.Fprintf(&b, "… (%d more characters)", left)
	}
	return b.String()
}

// show returns what stands for a character of n bytes.
func show(r rune, n int) string {
	switch {
	case r == utf8.RuneError && n == 1:
		return "<invalid>"
	case r == '\n':
		return `\n`
	case r == '\t':
		return `\t`
	case IsHidden(r), r == '«', r == '»':
		return fmt.Sprintf("<U+%04X>", r)
	}
	return string(r)
}

// IsHidden reports whether a character does not show as itself: controls, format characters,
// unassigned and private ones, other spaces than the plain one, line separators, default
// ignorable ones, and variation selectors.
func IsHidden(r rune) bool {
	if r >= ' ' && r < 0x7f {
		return false
	}
	return !unicode.IsPrint(r) || r == '\u2800' || // a Braille pattern without dots
		unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}
