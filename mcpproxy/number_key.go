package mcpproxy

import (
	"bytes"
	"strconv"
)

// maxPlain is the length up to which an integer is its own comparable form.
const maxPlain = 64

// appendNumberKey appends the comparable form of a number: the same for all ways to write its value,
// and for an integer of an ordinary length the usual one. Other tokens, such as null, stay as they
// are.
func appendNumberKey(dst, token []byte) []byte {
	digits, negative := bytes.CutPrefix(token, []byte{'-'})
	if len(digits) == 0 || digits[0] < '0' || digits[0] > '9' {
		return append(dst, token...)
	}
	if len(token) <= maxPlain && !bytes.ContainsAny(digits, ".eE") && digits[0] != '0' {
		return append(dst, token...)
	}
	exponent := 0
	if i := bytes.IndexAny(digits, "eE"); i >= 0 {
		n, err := strconv.Atoi(string(digits[i+1:]))
		if err != nil || n > 1<<30 || n < -1<<30 {
			return append(dst, token...)
		}
		exponent, digits = n, digits[:i]
	}
	whole, fraction, _ := bytes.Cut(digits, []byte{'.'})
	exponent -= len(fraction)
	digits = bytes.TrimLeft(append(whole[:len(whole):len(whole)], fraction...), "0")
	short := bytes.TrimRight(digits, "0")
	exponent += len(digits) - len(short)
	if len(short) == 0 {
		return append(dst, '0')
	}
	if negative {
		dst = append(dst, '-')
	}
	dst = append(dst, short...)
	sign := len(token) - len(bytes.TrimPrefix(token, []byte{'-'}))
	if exponent >= 0 && sign+len(short)+exponent <= maxPlain {
		return append(dst, bytes.Repeat([]byte{'0'}, exponent)...)
	}
	return strconv.AppendInt(append(dst, 'e'), int64(exponent), 10)
}

// SameText reports whether two ids that differ are the same text without quotes, such as 3 and "3".
// Some servers and clients turn one into the other.
func SameText(a, b []byte) bool { return textOf(a) == textOf(b) && IDKey(a) != IDKey(b) }

func textOf(id []byte) string {
	key := bytes.Trim([]byte(IDKey(id)), `"`)
	return string(appendNumberKey(nil, bytes.TrimSpace(key)))
}
