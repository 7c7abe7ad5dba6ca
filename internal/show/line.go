package show

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line returns untrusted text for one line on a terminal. It removes colours, writes a space for a
// tab and for other spaces, and U+FFFD for each other escape sequence, and for each character that
// does not show as one character on one line: controls, line ends, direction marks, zero-width
// characters, tags, a flood of combining characters, invalid UTF-8. It breaks up mcp-jail's own mark.
//
// A second Line changes nothing more.
func Line(s string) string {
	if !isPlain(s) {
		s = visible(s, func(string) bool { return false })
	}
	return escapeMark(s)
}

// Quote returns untrusted text for one line in quotes, which the text cannot end.
func Quote(s string) string { return strconv.Quote(Line(s)) }

// Name returns the name of a file, a server or a tool in a sentence or a table: the name itself, or
// in quotes with escapes if it does not show as it is, or could be taken for words of the sentence
// or for a line of mcp-jail's own. On Windows a backslash needs no quotes.
func Name(s string) string {
	if isPlainName(s) && (onWindows || !strings.Contains(s, `\`)) {
		return s
	}
	return quoteName(s)
}

// InSentence returns a name that a server may have chosen, such as that of a tool: in quotes unless it is plain
// and one word, so that it cannot go on with the sentence.
func InSentence(s string) string {
	if strings.ContainsFunc(s, unicode.IsSpace) {
		return Quote(s)
	}
	return Name(s)
}

func isPlainName(s string) bool {
	return s != "" && Line(s) == s && !strings.ContainsAny(s, "\"(),;") && !strings.Contains(s, ": ") && strings.TrimSpace(s) == s && !Imitates(s)
}

func quoteName(s string) string {
	var b strings.Builder
	var open marks
	q := strconv.Quote(s)
	for i, r := range q {
		switch flood := open.isFlood(r); {
		case isMark(r, q[i:]), flood || IsHidden(r):
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Lines applies [Line] to each line of a text.
func Lines(s string) string {
	l := strings.Split(s, "\n")
	for i := range l {
		l[i] = Line(l[i])
	}
	return strings.Join(l, "\n")
}

// Screen is the last step before a terminal, for text that has several lines and mcp-jail's own
// colours. It does what [Line] does, but keeps line ends, tabs and the mark, and the colours
// that colours lists as whole sequences.
func Screen(s string, colours ...string) string {
	keep := func(seq string) bool {
		if seq == "\n" || seq == "\t" {
			return true
		}
		for _, c := range colours {
			if c == seq {
				return true
			}
		}
		return false
	}
	return visible(s, keep)
}

// visible replaces what a terminal acts on. keep reports whether an escape sequence, a line end or
// a tab stays.
func visible(s string, keep func(string) bool) string {
	var b strings.Builder
	b.Grow(len(s))
	var open marks
	for i := 0; i < len(s); {
		if n := escapeLen(s[i:]); n > 0 {
			switch seq := s[i : i+n]; {
			case keep(seq):
				b.WriteString(seq)
			case !isColour(seq): // without a trace, the text would pass for another
				b.WriteRune(utf8.RuneError)
			}
			i += n
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case (r == '\n' || r == '\t') && keep(s[i:i+n]):
			open = 0
			b.WriteByte(byte(r))
		case r == '\t' || unicode.Is(unicode.Zs, r):
			open = 0
			b.WriteByte(' ')
		case open.isFlood(r) || IsHidden(r):
			b.WriteRune(utf8.RuneError)
		default:
			b.WriteRune(r)
		}
		i += n
	}
	return b.String()
}

// Named returns a text for one line on a terminal, of at most max characters and a note of how many
// were left out. Each character that does not show, or that changes how others show, is replaced by
// its number, so that two texts that differ look different. So are « and », with which callers
// quote. A newline becomes \n and a tab \t. A backslash stays as it is.
func Named(text string, max int) string {
	var b strings.Builder
	var open marks
	width, left := 0, 0
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		shown := name(r, n)
		if open.isFlood(r) {
			shown = number(r)
		}
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

// NamedWidth returns how many characters [Named] takes for the first character of a text, without
// those before it, and how many bytes that character has.
func NamedWidth(text string) (width, bytes int) {
	r, n := utf8.DecodeRuneInString(text)
	return utf8.RuneCountInString(name(r, n)), n
}

// name returns what stands for a character of n bytes.
func name(r rune, n int) string {
	switch {
	case r == utf8.RuneError && n == 1:
		return "<invalid>"
	case r == '\n':
		return `\n`
	case r == '\t':
		return `\t`
	case IsHidden(r), r == '«', r == '»':
		return number(r)
	}
	return string(r)
}

func number(r rune) string { return fmt.Sprintf("<U+%04X>", r) }

// Abbreviate shortens a text for a message, so that a hostile one cannot fill it. Hidden
// characters stay hidden.
func Abbreviate(s string) string {
	if len(s) <= 80 {
		return s
	}
	return strings.ToValidUTF8(s[:77], "") + "..."
}

// Candidate returns a proposal for the script of a shell's completion: a word, and text about it,
// which may be empty. ok is false if the script would act on the word, or insert another one than
// is meant: control characters, ":" and quotes, a marker of the script, a leading "-".
func Candidate(word, about string) (line string, ok bool) {
	if word == "" || strings.HasPrefix(word, "_activeHelp_") || strings.IndexByte(" -./=@", word[0]) >= 0 ||
		strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ._@/=-") != "" {
		return "", false
	}
	if about != "" {
		word += "\t" + Line(about)
	}
	return word, true
}

// bareWindows are the characters that neither PowerShell nor cmd.exe acts on.
const bareWindows = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+:\\"

// actsOn are characters that PowerShell, cmd.exe or the program acts on between quotation marks too.
const actsOn = "\"$`%!\u201c\u201d\u201e"

// windowsWord quotes a word for the shells of Windows. ok reports whether PowerShell, cmd.exe and the
// program all read it as meant: a backslash before the last quotation mark would count as its escape,
// and PowerShell 5 drops an empty word.
func windowsWord(s string) (word string, ok bool) {
	switch {
	case s != "" && strings.Trim(s, bareWindows) == "" && !isSplit(s):
		return s, true
	case strings.HasSuffix(s, `\`):
		return `"` + s + `\"`, false
	}
	return `"` + s + `"`, s != "" && !strings.ContainsAny(s, actsOn)
}

// isSplit reports whether PowerShell would make two words of one: of a flag with a dot or a colon.
func isSplit(s string) bool { return strings.HasPrefix(s, "-") && strings.ContainsAny(s, ".:") }
