package show

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

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

// isPlain reports whether s is printable ASCII only.
func isPlain(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// maxMarks is how many combining characters may follow one another. More of them reach into the
// lines above and below. Scripts that people read have at most four.
const maxMarks = 4

// marks counts the combining characters at the end of a text.
type marks int

// isFlood counts a character, and reports whether it is a combining character too many.
func (m *marks) isFlood(r rune) bool {
	if r < 0x300 || !unicode.In(r, unicode.Mn, unicode.Me) {
		*m = 0
		return false
	}
	*m++
	return *m > maxMarks
}

// Bare removes terminal escape sequences from a text, to search in it.
func Bare(s string) string { return replaced(s, "", "") }

func replaced(s, colour, other string) string {
	if !strings.ContainsAny(s, "\x1b\u0090\u0098\u009b\u009d\u009e\u009f") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		if n := escapeLen(s[i:]); n > 0 {
			if isColour(s[i : i+n]) {
				b.WriteString(colour)
			} else {
				b.WriteString(other)
			}
			i += n
			continue
		}
		b.WriteByte(s[i])
		i++
	}
	return b.String()
}

// Marked returns a text with one character in place of each terminal escape sequence: ESC for a
// colour, and U+FFFD for any other.
func Marked(s string) string { return replaced(s, "\x1b", "\ufffd") }

// escapeKind returns which sequence (ECMA-48) s begins, as its final byte of the two-byte form, and
// the length of the introducer. The length is 0 if s begins none. Sequences have two forms: ESC
// with a letter, and one control character of U+0080 to U+009F.
func escapeKind(s string) (kind byte, introducer int) {
	switch {
	case len(s) > 1 && s[0] == 0x1b:
		return s[1], 2
	case len(s) > 0 && s[0] == 0x1b:
		return 0, 1
	case len(s) > 1 && s[0] == 0xc2 && strings.IndexByte("\x90\x98\x9b\x9d\x9e\x9f", s[1]) >= 0:
		return s[1] - 0x40, 2
	}
	return 0, 0
}

// escapeLen returns the length of the terminal escape sequence at the start of s, or 0. An
// unfinished sequence takes the rest of s, as it does on a terminal.
func escapeLen(s string) int {
	kind, body := escapeKind(s)
	switch {
	case body < 2:
		return body
	case kind == '[': // control sequence: parameters, intermediates, one final byte
		for i := body; i < len(s); i++ {
			if s[i] >= 0x40 && s[i] <= 0x7e {
				return i + 1
			}
			if s[i] < 0x20 || s[i] > 0x7e {
				return i // the sequence breaks off, and text follows
			}
		}
		return len(s)
	case strings.IndexByte("]PX^_", kind) >= 0: // string: up to BEL or ST
		for i := body; i < len(s); i++ {
			if s[i] == 0x07 {
				return i + 1
			}
			if s[i] == 0x1b && i+1 < len(s) && s[i+1] == '\\' {
				return i + 2
			}
			if s[i] == 0xc2 && i+1 < len(s) && s[i+1] == 0x9c {
				return i + 2
			}
		}
		return len(s)
	case kind >= 0x20 && kind <= 0x2f && len(s) > 2: // designation of a character set
		return 3
	case kind < utf8.RuneSelf:
		return 2
	}
	return 1
}

// isColour reports whether an escape sequence only sets colours and weights: "select graphic
// rendition", ECMA-48 8.3.117.
func isColour(seq string) bool {
	body, ok := strings.CutPrefix(seq, "\x1b[")
	body, ended := strings.CutSuffix(body, "m")
	return ok && ended && strings.Trim(body, "0123456789;:") == ""
}

// Passes reports whether a line of a server's own may pass to a pipe as it is: colours are its only
// escape sequences, no other control moves text, and no character is invisible or changes how others
// show. It lets pass invalid UTF-8, and the two joiners that scripts and emoji need.
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

// Cut shortens s to at most n bytes without splitting a character. An ellipsis marks the
// cut.
func Cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	const ellipsis = "…"
	if n < len(ellipsis) {
		return ""
	}
	n -= len(ellipsis)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + ellipsis
}

// TOML returns s, valid UTF-8, as a basic string, in which every character shows. YAML reads the
// string alike. The mark of mcp-jail is escaped too.
func TOML(s string) string {
	var b strings.Builder
	b.Grow(len(s) + 2)
	b.WriteByte('"')
	var open marks
	for i, r := range s {
		flood := open.isFlood(r)
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		// An escape reads as the same string, and shows what is there.
		case isMark(r, s[i:]), r <= 0xffff && (flood || IsHidden(r)):
			fmt.Fprintf(&b, `\u%04X`, r)
		case flood || IsHidden(r):
			fmt.Fprintf(&b, `\U%08X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// Key returns one part of a dotted key, quoted if TOML requires it.
func Key(s string) string {
	if s == "" || strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" {
		return TOML(s)
	}
	return s
}

// List returns values as a TOML array of strings.
func List(values []string) string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = TOML(v)
	}
	return "[" + strings.Join(out, ", ") + "]"
}

// JSON replaces hidden characters in JSON by \u escapes of the same meaning. The encoder leaves
// controls from U+007F on and direction marks unescaped, and people print JSON on terminals. data
// must be valid UTF-8 from an encoder.
func JSON(data []byte) []byte {
	var out []byte
	var open marks
	done := 0
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		if i += n; !open.isFlood(r) && (r < 0x7f || !IsHidden(r)) {
			continue
		}
		out = append(out, data[done:i-n]...)
		done = i
		if hi, lo := utf16.EncodeRune(r); hi != utf8.RuneError {
			out = fmt.Appendf(out, `\u%04x\u%04x`, hi, lo)
		} else {
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return append(out, data[done:]...)
}

// Item returns a word of a list in a client's file of JSON. Characters that only HTML needs escaped stay.
func Item(word string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(strings.ToValidUTF8(word, "\ufffd")) != nil { // a string can be encoded
		return `""`
	}
	return string(JSON(bytes.TrimRight(b.Bytes(), "\n")))
}

// Expands reports whether some client could replace part of a word before it starts a server:
// ${NAME}, ${NAME:-x}, ${env:NAME}, ${input:ID}, $NAME, $(COMMAND), {env:NAME}, {file:PATH},
// %NAME%. It is for files of clients that are not known, and wider than each client.
func Expands(word string) bool {
	for i := 0; i+1 < len(word); i++ {
		switch c := word[i+1]; word[i] {
		case '$':
			if c == '{' || c == '(' || isNameByte(c) {
				return true
			}
		case '{':
			if strings.HasPrefix(word[i:], "{env:") || strings.HasPrefix(word[i:], "{file:") || c == '{' {
				return true
			}
		case '%':
			if end := strings.IndexByte(word[i+1:], '%'); end > 0 && isNameByte(c) {
				return true
			}
		}
	}
	return false
}

func isNameByte(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}
