package mcpproxy

import (
	"bytes"
	"strings"
)

// Flaw is a set of properties that could make two readers of one frame see
// different messages. A frame with flaws can still be forwarded: the caller
// decides.
type Flaw uint16

const (
	FlawMalformed Flaw = 1 << iota // not JSON, or cut off
	FlawTrailing                   // something follows the first value
	FlawDuplicate                  // a name stands twice in one object
	FlawCase                       // a name differs from another or a known one only in case, or the method from tools/call: see Alike
	FlawText                       // invalid UTF-8, a byte order mark, or a lone surrogate or NUL in a name, id, token or method
	FlawID                         // the id is neither string, number nor null
	FlawBounds                     // more names, members or text than are looked into
	FlawNumber                     // NaN or an infinity, which Python writes and reads, and few others do
	FlawLine                       // a carriage return or newline between tokens, at which some readers end the line
	FlawShape                      // a method that is no string, a tools/call without a name, a request that is an answer too
)

// IsStrict reports whether every reader of JSON sees the same message.
func (f Flaw) IsStrict() bool { return f == 0 }

// Has reports whether f contains any of the flaws in g.
func (f Flaw) Has(g Flaw) bool { return f&g != 0 }

// Ambiguous reports whether another reader of the frame could see another
// message in it: a tool, a method or an id that the envelope does not say. That
// is so for every flaw but FlawNumber: who reads such numbers reads them as
// values, and everybody else reads nothing.
//
// It is about frames of a client, and about the frame: what a lone message must
// be beside it (an id that is Trackable, a Kind other than Other) is asked of the
// Envelope, and elements of a batch that are no messages are not in it.
func (f Flaw) Ambiguous() bool { return f&^FlawNumber != 0 }

// SameName reports whether somebody who does not care for case, or for the white
// space around a name, could take one of the two for the other: `Write ` for
// `write`, `ſearch` for `search`.
func SameName(a, b []byte) bool {
	return bytes.EqualFold(foldSpecial(bytes.TrimFunc(a, isBlank)), foldSpecial(bytes.TrimFunc(b, isBlank)))
}

// isBlank is the white space of Unicode, of JavaScript (which has the byte order
// mark) and of those that take control characters for some.
func isBlank(r rune) bool { return r <= ' ' || r == '\ufeff' || strings.ContainsRune(blanks, r) }

const blanks = "\u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"

// asciiFolds are the letters beyond simple folding that become ASCII in lower or in
// upper case, or by full folding (Unicode, CaseFolding.txt and SpecialCasing.txt).
var asciiFolds = strings.NewReplacer("İ", "i", "ı", "i", "ß", "ss", "ẞ", "ss", "ﬀ", "ff", "ﬁ", "fi", "ﬂ", "fl", "ﬃ", "ffi", "ﬄ", "ffl", "ﬅ", "st", "ﬆ", "st")

// foldSpecial returns name without such letters.
func foldSpecial(name []byte) []byte {
	for _, c := range name {
		if c >= 0x80 {
			return []byte(asciiFolds.Replace(string(name)))
		}
	}
	return name
}

const methodToolsCall = "tools/call"

// messageFlaws returns the flaws that only a whole message has.
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
	case !isPlainMethod(e.Method) && SameName(e.Method, []byte(methodToolsCall)):
		return FlawCase
	}
	return 0
}

// isPlainMethod reports whether a method is written as most are: it is alike to itself only.
func isPlainMethod(method []byte) bool {
	for _, c := range method {
		if (c < 'a' || c > 'z') && c != '/' {
			return false
		}
	}
	return true
}
