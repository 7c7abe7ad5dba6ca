package diagnostics

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// ownPrefix is what every line of mcp-jail's own begins with.
const ownPrefix = "mcp-jail:"

// prefixSkeleton is the shape of ownPrefix, and markShape the name in the mark of a result's
// block, with the bracket in front of it or behind.
const (
	prefixSkeleton = "mcpjall:"
	markSkeleton   = "mcpjall"
)

// imitatesPrefix tells whether s shows as something that holds ownPrefix or the mark.
func imitatesPrefix(s string) bool {
	seen := skeleton(s)
	if strings.Contains(seen, prefixSkeleton) {
		return true
	}
	seen = strings.ReplaceAll(seen, " ", "")
	return strings.Contains(seen, "["+markSkeleton) || strings.Contains(seen, markSkeleton+"]")
}

// imitatesMark tells whether s begins with what shows as the mark.
func imitatesMark(s string) bool {
	seen := skeleton(s[:min(len(s), 32*len(mark))])
	return strings.HasPrefix(strings.ReplaceAll(seen, " ", ""), "["+markSkeleton)
}

// skeleton is what is seen of s, roughly: without what does not show and without
// hyphens, of which there are many and some show only at times; letters that look
// like those of ownPrefix are those.
func skeleton(s string) string { return strings.Map(confusable, stripEscapes(s)) }

func confusable(r rune) rune {
	if r < utf8.RuneSelf && r != '-' && r != '|' && r != '1' && r >= ' ' && r <= '~' { // nearly all there is
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
	case 'Μ', 'Ꮇ', 'ꓟ', 'Ⲙ': // capitals whose small letters look otherwise
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

// hasInvisible tells whether s holds what does not show, or shows other text than it holds:
// controls, direction marks, line separators. Colours are left alone, bytes that are no
// UTF-8, and the two joiners that scripts and emoji are written with: they hide nothing
// that looksOwn does not see.
func hasInvisible(s string) bool {
	if isPrintable(s) {
		return false
	}
	for i := 0; i < len(s); {
		if n := escapeLen(s[i:]); n > 0 {
			i += n
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			if s[i] < 0xa0 { // a control where text is no UTF-8
				return true
			}
		case r == '\t', r == '\u200c', r == '\u200d':
		case unicode.IsControl(r), unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp):
			return true
		}
		i += n
	}
	return false
}

// terminalRow is what a terminal shows of the line that is being written. A carriage return
// goes back to its beginning, and what is written then leaves the rest standing.
type terminalRow struct {
	cells []rune
	at    int
}

const maxRow = 512 // cells that are remembered: no terminal has wider rows, and each return looks at them

// wouldImitate tells whether text, written now, would make the row show ownPrefix with
// what stands there already. A row may be broken into several, at a width that is
// not known, so what stands there may be anywhere in it.
func (r *terminalRow) wouldImitate(text string) bool {
	if r.at > 0 || len(r.cells) == 0 || text == "" {
		return false
	}
	if rest, ok := strings.CutPrefix(prefixSkeleton, strings.TrimLeft(skeleton(text), " ")); ok && strings.Contains(skeleton(string(r.cells)), rest) && rest != prefixSkeleton {
		return true
	}
	// What stands further on is not joined to text.
	near := min(len(r.cells), 2*utf8.RuneCountInString(text)+8*len(ownPrefix))
	after := terminalRow{cells: append([]rune(nil), r.cells[:near]...)}
	after.write(text)
	return imitatesPrefix(string(after.cells))
}

// write puts text on the row.
func (r *terminalRow) write(text string) {
	for _, c := range stripEscapes(text) {
		width := 1
		switch {
		case c == '\t': // goes on without a trace
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

// isWide tells the characters that take two cells, as most terminals have it.
func isWide(r rune) bool {
	return r >= 0x1100 && (r <= 0x115f || r >= 0x2e80 && r <= 0xa4cf && r != 0x303f || r >= 0xac00 && r <= 0xd7a3 ||
		r >= 0xf900 && r <= 0xfaff || r >= 0xfe30 && r <= 0xfe6f || r >= 0xff00 && r <= 0xff60 || r >= 0xffe0 && r <= 0xffe6 ||
		r >= 0x1f300 && r <= 0x1faff || r >= 0x20000 && r <= 0x3fffd)
}
