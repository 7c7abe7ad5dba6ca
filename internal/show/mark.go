package show

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// ownPrefix begins every line of mcp-jail's own.
const ownPrefix = "mcp-jail:"

// prefixSkeleton is the skeleton of ownPrefix. markSkeleton is the skeleton of the name
// in the mark of a result's block.
const (
	prefixSkeleton = "mcpjall:"
	markSkeleton   = "mcpjall"
)

// mark begins a block of mcp-jail's own in a result.
const mark = "[mcp-jail"

func isMark(r rune, s string) bool { return confusable(r) == '[' && imitatesMark(s) }

// escapeMark replaces the bracket by "(" wherever s shows as "[mcp-jail".
func escapeMark(s string) string {
	if isPlain(s) && !strings.Contains(s, "[") {
		return s
	}
	var b strings.Builder
	done := 0
	for i, r := range s {
		if isMark(r, s[i:]) {
			b.WriteString(s[done:i] + "(")
			done = i + utf8.RuneLen(r)
		}
	}
	return b.String() + s[done:]
}

// Imitates reports whether s looks as if it contained ownPrefix or the mark.
func Imitates(s string) bool {
	seen := skeleton(s)
	if strings.Contains(seen, prefixSkeleton) {
		return true
	}
	seen = strings.ReplaceAll(seen, " ", "")
	return strings.Contains(seen, "["+markSkeleton) || strings.Contains(seen, markSkeleton+"]")
}

func imitatesMark(s string) bool {
	seen := skeleton(s[:min(len(s), 32*len(mark))])
	return strings.HasPrefix(strings.ReplaceAll(seen, " ", ""), "["+markSkeleton)
}

// skeleton returns an approximation of what people see of s, in the sense of Unicode TR39:
// invisible characters and hyphens are removed, and letters that look like those of
// ownPrefix are replaced by these.
func skeleton(s string) string { return strings.Map(confusable, Bare(s)) }

// confusable returns the character that r is confused with, r in lower case, or -1 for an
// invisible character or a hyphen.
func confusable(r rune) rune {
	if r < utf8.RuneSelf && r != '-' && r != '|' && r != '1' && r >= ' ' && r <= '~' { // the common case
		if r >= 'A' && r <= 'Z' {
			r += 'a' - 'A'
		}
		if r == 'i' {
			r = 'l'
		}
		return r
	}
	switch {
	case r >= 0xff01 && r <= 0xff5e: // full width
		r -= 0xfee0
	case r >= 0x1d400 && r < 0x1d6a4: // mathematical letters, thirteen times A to z
		r = 'a' + (r-0x1d400)%26
	}
	switch r {
	case 'Μ', 'Ꮇ', 'ꓟ', 'Ⲙ': // capitals whose small letters look different
		return 'm'
	case 'Ꮯ', 'ꓚ':
		return 'c'
	case 'Ꮲ', 'ꓑ':
		return 'p'
	case 'Ꭻ', 'ꓙ':
		return 'j'
	case 'Ꭺ', 'ꓮ':
		return 'a'
	case 'Ꮖ', 'ꓲ', 'Ꮮ', 'ꓡ':
		return 'l'
	}
	switch r = unicode.ToLower(r); r {
	case 'i', '1', '|', 'ı', 'ɩ', 'ι', 'і', 'ⅰ', 'ӏ', 'ⅼ', 'ǀ', '∣', 'ɪ', 'ʟ', 'ו', 'ן', 'ا', 'ⲓ':
		return 'l'
	case 'м', 'ⅿ', 'ᴍ':
		return 'm'
	case 'с', 'ϲ', 'ⅽ', 'ᴄ', 'ⲥ':
		return 'c'
	case 'р', 'ρ', 'ⲣ', 'ϱ', 'ᴘ':
		return 'p'
	case 'ј', 'ϳ', 'ᴊ', 'ȷ':
		return 'j'
	case 'а', 'ɑ', 'α', '⍺', 'ᴀ':
		return 'a'
	case '［', '【', '〔', '〖', '〘', '⟦', '❲', '⁅', '⦋', '⦍', '⦏', '﹝', '︹', '︻', '⸢', '⌈', '⌊', '⎡', '⎣', '「', '『':
		return '['
	case '］', '】', '〕', '〗', '〙', '⟧', '❳', '⁆', '⦌', '⦎', '⦐', '﹞', '︺', '︼', '⸣', '⌉', '⌋', '⎤', '⎦', '」', '』':
		return ']'
	case '꞉', '∶', 'ː', '˸', '׃', '։', '܃', '܄', 'ः', '︓', '﹕':
		return ':'
	case utf8.RuneError, '−', '⁃', '˗', '➖', 'ー', 'ㅡ', '─', '\u3164', '\u115f', '\u1160', '\uffa0', '\u2800':
		return -1
	}
	if unicode.Is(unicode.Zs, r) || r == '\t' {
		return ' '
	}
	if !unicode.IsPrint(r) || unicode.In(r, unicode.Pd, unicode.Mn, unicode.Me) {
		return -1
	}
	return r
}

// Passes reports whether a line of a server's own may pass to a terminal as it is: colours are its
// only escape sequences, no other control moves text, and no character is invisible or changes how
// others show. It lets pass invalid UTF-8, and the two joiners that scripts and emoji need, because
// Imitates sees through these.
func Passes(s string) bool {
	for i := 0; i < len(s); {
		if n := escapeLen(s[i:]); n > 0 {
			if !isColour(s[i : i+n]) {
				return false
			}
			i += n
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			if s[i] < 0xa0 { // a control character in a text that is not UTF-8
				return false
			}
		case r == '\t', r == '\u200c', r == '\u200d':
		case unicode.IsControl(r), unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp):
			return false
		}
		i += n
	}
	return true
}

// Row models what a terminal shows of the current line. A carriage return moves to
// its start, and new text overwrites the old.
type Row struct {
	cells []rune
	at    int
}

// Return moves to the start of the row.
func (r *Row) Return() { r.at = 0 }

// Clear begins another row.
func (r *Row) Clear() { r.cells, r.at = r.cells[:0], 0 }

const maxRow = 512 // cells that are recorded; terminals are narrower

// WouldImitate reports whether writing text now would complete ownPrefix together with the
// text on the row. A terminal may break the row at any width, so all of it counts.
func (r *Row) WouldImitate(text string) bool {
	if r.at > 0 || len(r.cells) == 0 || text == "" {
		return false
	}
	if rest, ok := strings.CutPrefix(prefixSkeleton, strings.TrimLeft(skeleton(text), " ")); ok && strings.Contains(skeleton(string(r.cells)), rest) && rest != prefixSkeleton {
		return true
	}
	// Text further to the right does not touch the new text.
	near := min(len(r.cells), 2*utf8.RuneCountInString(text)+8*len(ownPrefix))
	after := Row{cells: append([]rune(nil), r.cells[:near]...)}
	after.Write(text)
	return Imitates(string(after.cells))
}

// Write puts text on the row.
func (r *Row) Write(text string) {
	for _, c := range Bare(text) {
		width := 1
		switch {
		case c == '\t': // moves without writing
			r.at = (r.at/8 + 1) * 8
			continue
		case c != utf8.RuneError && (!unicode.IsPrint(c) && !unicode.Is(unicode.Zs, c) || unicode.In(c, unicode.Mn, unicode.Me)):
			continue
		case isWide(c):
			width = 2
		}
		for ; width > 0 && r.at < maxRow; width-- {
			for len(r.cells) <= r.at {
				r.cells = append(r.cells, ' ')
			}
			r.cells[r.at] = c
			r.at++
		}
	}
}

func isWide(r rune) bool {
	return r >= 0x1100 && (r <= 0x115f || r >= 0x2e80 && r <= 0xa4cf && r != 0x303f || r >= 0xac00 && r <= 0xd7a3 ||
		r >= 0xf900 && r <= 0xfaff || r >= 0xfe30 && r <= 0xfe6f || r >= 0xff00 && r <= 0xff60 || r >= 0xffe0 && r <= 0xffe6 ||
		r >= 0x1f300 && r <= 0x1faff || r >= 0x20000 && r <= 0x3fffd)
}
