package mcpproxy

import (
	"bytes"
	"strings"
)

// Flaw is a set of properties of a frame that can make two readers see different messages.
// A frame with flaws can still be forwarded. The caller decides.
type Flaw uint16

const (
	FlawMalformed Flaw = 1 << iota // not JSON, or cut off
	FlawTrailing                   // text follows the first value
	FlawDuplicate                  // an object has two members of the same name
	FlawCase                       // a name equals another or a known one but for its case, or the method is not tools/call but SameName as it
	FlawText                       // invalid UTF-8, a byte order mark, or a lone surrogate or NUL in a name, id, token or method
	FlawID                         // the id is neither string, number nor null
	FlawBounds                     // more names, members or text than the scanner records
	FlawNumber                     // NaN or an infinity: Python writes and reads them, most others do not
	FlawLine                       // a carriage return or newline between tokens; some readers end the line there
	FlawShape                      // the method is not a string, a tools/call has no name, or a request is a response too
)

// IsStrict reports whether every JSON reader sees the same message.
func (f Flaw) IsStrict() bool { return f == 0 }

// Has reports whether f contains any of the flaws in g.
func (f Flaw) Has(g Flaw) bool { return f&g != 0 }

// Ambiguous reports whether another reader of the frame could see another message: a tool,
// a method or an id that the envelope does not hold. Every flaw but FlawNumber has that
// effect. A reader either accepts such a number as a value or rejects the whole frame.
//
// Ambiguous concerns the frame as a whole. Other requirements of a single message
// (Trackable, a Kind other than Other) are checked on its Envelope. Ambiguous does not cover
// elements of a batch that are not messages.
func (f Flaw) Ambiguous() bool { return f&^FlawNumber != 0 }

// SameName reports whether a reader that ignores case, or white space around a name, could
// take one name for the other: `Write ` for `write`, `ſearch` for `search`.
func SameName(a, b []byte) bool {
	return bytes.EqualFold(foldSpecial(bytes.TrimFunc(a, isBlank)), foldSpecial(bytes.TrimFunc(b, isBlank)))
}

// isBlank reports whether some reader trims r as white space: Unicode white space, the
// byte order mark (JavaScript) and control characters.
func isBlank(r rune) bool { return r <= ' ' || r == '\ufeff' || strings.ContainsRune(blanks, r) }

const blanks = "\u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"

// asciiFolds maps the letters that simple case folding misses and that become ASCII in
// lower or upper case, or by full folding (Unicode, CaseFolding.txt and
// SpecialCasing.txt).
var asciiFolds = strings.NewReplacer("İ", "i", "ı", "i", "ß", "ss", "ẞ", "ss", "ﬀ", "ff", "ﬁ", "fi", "ﬂ", "fl", "ﬃ", "ffi", "ﬄ", "ffl", "ﬅ", "st", "ﬆ", "st")

func foldSpecial(name []byte) []byte {
	for _, c := range name {
		if c >= 0x80 {
			return []byte(asciiFolds.Replace(string(name)))
		}
	}
	return name
}

const methodToolsCall = "tools/call"

// messageFlaws returns the flaws that show only when the whole message is known.
func (e *Envelope) messageFlaws() Flaw {
	switch {
	case e.Method == nil:
		return 0
	case e.Result.Present() && e.Result.Kind != 'n', e.Error.Present() && e.Error.Kind != 'n':
		return FlawShape
	case string(e.Method) == methodToolsCall:
		if e.Name == nil {
			return FlawShape
		}
	case SameName(e.Method, []byte(methodToolsCall)):
		return FlawCase
	}
	return 0
}
