package seatbelt

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// spelled returns a regular expression for a name in every spelling that a disk may take for it:
// other case, letters outside ASCII that fold to ASCII, characters that some disks ignore, and dots
// and spaces at the end. It matches a little more, and is ASCII.
func spelled(name string) string {
	name = strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) {
			return -1
		}
		return r
	}, name)
	var b strings.Builder
	b.WriteString(foreign + "*")
	for name != "" {
		n := foreignRun(name)
		switch {
		case n > 0:
			b.WriteString(foreignSpelled(name[:n]))
		case isLigature(name):
			n = ligatures(name)
			letters(&b, name[:n])
		case isLetter(name[0]):
			n = 1
			if strings.IndexByte("iksIKS", name[0]) >= 0 {
				b.WriteString("(" + anyCase(name[0]) + "|" + foreign + ")+") // dotted I, Kelvin, long s
			} else {
				b.WriteString(anyCase(name[0]) + foreign + "*")
			}
		default:
			n = 1
			b.WriteString(quoted(name[0]) + foreign + "*")
		}
		name = name[n:]
	}
	return strings.TrimSuffix(b.String(), foreign+"*") + atEnd
}

// beginning returns the expression for names that begin like s in some spelling. The last letter is
// left open: a ligature may join it with the next.
func beginning(s string) string {
	return strings.TrimSuffix(spelled(s[:len(s)-1]), atEnd) + "[^/]*"
}

// atEnd matches what some disks ignore at the end of a name.
const atEnd = "([. ]|" + foreign + ")*"

// letters writes letters of which some may be one character: exactly these, or a mixture of them
// with characters outside ASCII.
func letters(b *strings.Builder, s string) {
	var exact, set string
	for i := range len(s) {
		exact += anyCase(s[i])
		set += anyCase(s[i])[1:3]
	}
	mixed := "([" + set + "]|" + foreign + ")*"
	b.WriteString("(" + exact + foreign + "*|" + mixed + foreign + mixed + ")")
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func anyCase(c byte) string { return "[" + string(rune(c|0x20)) + string(rune(c&^0x20)) + "]" }

// quoted returns the expression for a byte of ASCII. A class of its own needs no escape, whose
// meaning inside #"" is not published; for those that a class cannot hold it is any byte.
func quoted(c byte) string {
	switch {
	case strings.IndexByte(`[]\"^`, c) >= 0:
		return "[^/]"
	case strings.IndexByte(".+*?(){}|$", c) >= 0:
		return "[" + string(rune(c)) + "]"
	}
	return string(rune(c))
}

// ligatures returns the number of letters at the start of a name that ligatures may join, or 0.
func ligatures(name string) int {
	n := 0
	for ; isLigature(name[n:]); n++ {
	}
	if n > 0 {
		n++
	}
	return n
}

func isLigature(name string) bool {
	if len(name) < 2 {
		return false
	}
	switch strings.ToLower(name[:2]) {
	case "ff", "fi", "fl", "st", "ss":
		return true
	}
	return false
}

// foreignRun returns the length of a name's start that is outside ASCII, with the letters between
// that may be one character with the mark behind them.
func foreignRun(name string) int {
	end := 0
	for i := 0; i < len(name); {
		j := i
		if isLetter(name[j]) {
			j++
		}
		if j == len(name) || name[j] < utf8.RuneSelf {
			break
		}
		for ; j < len(name) && name[j] >= utf8.RuneSelf; j++ {
		}
		i, end = j, j
	}
	return end
}

// foreignSpelled returns the expression for such a run, composed and decomposed, in each case.
func foreignSpelled(run string) string {
	for _, r := range run {
		switch {
		case r < utf8.RuneSelf:
		case r == '\u212a', r == '\u0130', r == '\u017f', r >= '\ufb00' && r <= '\ufb06', r == '\u00df', r == '\u1e9e', r == '\u037e', r == '\u1fef', r == '\u2260', r == '\u226e', r == '\u226f':
			return "[^/]*" // some spelling of it is ASCII
		}
	}
	return "([A-Za-z]?[A-Za-z]?" + foreign + "+)+" // two letters: one of its own, one with the mark behind it
}
