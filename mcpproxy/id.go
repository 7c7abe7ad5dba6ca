package mcpproxy

import (
	"bytes"
	"strconv"
)

// IDKey returns the comparable form of an id or a progress token: it is the same for two raw tokens
// that denote the same id. JSON-RPC 2.0, "Response object", wants the value of the id, so a number is
// compared by its value: 3, 3.0 and 3e0 are one id, and 9007199254740993 differs from …992. A string is
// compared by its content, because peers escape the same string differently ("é" and "\u00e9"). Its
// quote distinguishes it from a number.
func IDKey(id []byte) string {
	switch {
	case len(id) < 2 || id[0] != '"':
		return numberKey(id)
	case bytes.IndexByte(id, '\\') < 0:
		return string(id)
	}
	text, _ := appendUnescaped([]byte{'"'}, id[1:len(id)-1])
	return string(append(text, '"'))
}

// numberKey returns the comparable form of a number: its digits without zeros around them, and the
// power of ten. Other tokens, such as null, stay as they are.
func numberKey(token []byte) string {
	digits, negative := bytes.CutPrefix(token, []byte{'-'})
	if len(digits) == 0 || digits[0] < '0' || digits[0] > '9' {
		return string(token)
	}
	exponent := 0
	if i := bytes.IndexAny(digits, "eE"); i >= 0 {
		n, err := strconv.Atoi(string(digits[i+1:]))
		if err != nil || n > 1<<30 || n < -1<<30 {
			return string(token)
		}
		exponent, digits = n, digits[:i]
	}
	whole, fraction, _ := bytes.Cut(digits, []byte{'.'})
	exponent -= len(fraction)
	digits = bytes.TrimLeft(append(bytes.Clone(whole), fraction...), "0")
	short := bytes.TrimRight(digits, "0")
	if len(short) == 0 {
		return "0"
	}
	key := string(short) + "e" + strconv.Itoa(exponent+len(digits)-len(short))
	if negative {
		key = "-" + key
	}
	return key
}

// SameText reports whether two ids that differ are the same text without quotes, such as 3 and "3".
// Some servers and clients turn one into the other.
func SameText(a, b []byte) bool { return textOf(a) == textOf(b) && IDKey(a) != IDKey(b) }

func textOf(id []byte) string {
	return numberKey(bytes.TrimSpace(bytes.Trim([]byte(IDKey(id)), `"`)))
}
