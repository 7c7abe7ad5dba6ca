package diagnostics

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// sanitize makes text of a server safe to print. It removes terminal escape sequences and
// replaces other characters that do not show as one character on one line by U+FFFD:
// controls, line separators, direction marks and invalid UTF-8. It also breaks up
// mcp-jail's own mark, so that a server cannot imitate it.
func sanitize(s string) string {
	if isPrintable(s) {
		return escapeMark(s)
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		if n := escapeLen(s[i:]); n > 0 {
			i += n
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		i += n
		switch {
		case r == '\t' || unicode.Is(unicode.Zs, r):
			b.WriteByte(' ')
		case !unicode.IsPrint(r):
			b.WriteRune(utf8.RuneError)
		default:
			b.WriteRune(r)
		}
	}
	return escapeMark(b.String())
}

// isPrintable reports whether s is printable ASCII only.
func isPrintable(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// escapeLen returns the length of the terminal escape sequence (ECMA-48) at the start of
// s, or 0. An unfinished sequence takes the rest of s, as it does on a terminal.
func escapeLen(s string) int {
	body := 0
	var kind byte
	switch {
	case len(s) > 1 && s[0] == 0x1b:
		kind, body = s[1], 2
	case len(s) > 0 && s[0] == 0x1b:
		return 1
	case strings.HasPrefix(s, "\u009b"):
		kind, body = '[', len("\u009b")
	case strings.HasPrefix(s, "\u009d"):
		kind, body = ']', len("\u009d")
	default:
		return 0
	}
	switch kind {
	case '[': // control sequence: parameters, intermediates, one final byte
		for i := body; i < len(s); i++ {
			if s[i] >= 0x40 && s[i] <= 0x7e {
				return i + 1
			}
			if s[i] < 0x20 || s[i] > 0x7e {
				return i // the sequence breaks off, and text follows
			}
		}
		return len(s)
	case ']', 'P', 'X', '^', '_': // string: up to BEL or ST
		for i := body; i < len(s); i++ {
			if s[i] == 0x07 {
				return i + 1
			}
			if s[i] == 0x1b && i+1 < len(s) && s[i+1] == '\\' {
				return i + 2
			}
		}
		return len(s)
	}
	if kind >= 0x20 && kind <= 0x2f && len(s) > 2 { // designation of a character set
		return 3
	}
	if kind < 0x80 {
		return 2
	}
	return 1
}

// EscapeJSON replaces invisible characters in JSON by \u escapes of the same meaning. The
// encoder leaves controls from U+007F on and direction marks unescaped, and people print
// JSON on terminals. data must be valid UTF-8 from an encoder.
func EscapeJSON(data []byte) []byte {
	var out []byte
	done := 0
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		if i += n; r < 0x7f || unicode.IsPrint(r) {
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

const mark = "[mcp-jail"

// escapeMark replaces the bracket by "(" wherever s shows as "[mcp-jail".
func escapeMark(s string) string {
	if isPrintable(s) && !strings.Contains(s, "[") {
		return s
	}
	var b strings.Builder
	done := 0
	for i, r := range s {
		if confusable(r) == '[' && imitatesMark(s[i:]) {
			b.WriteString(s[done:i] + "(")
			done = i + utf8.RuneLen(r)
		}
	}
	if done == 0 {
		return s
	}
	return b.String() + s[done:]
}

// quote returns sanitized text of a server in quotes. Quotes in the text are escaped, so
// that it cannot end its own quotation.
func quote(s string) string { return strconv.Quote(sanitize(s)) }

// cut shortens s to at most n bytes without splitting a character. An ellipsis marks the
// cut.
func cut(s string, n int) string {
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
