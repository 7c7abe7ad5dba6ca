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
	if IsPlain(s) && !strings.Contains(s, "[") {
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
