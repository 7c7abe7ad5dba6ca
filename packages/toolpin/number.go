package toolpin

import (
	"encoding/json"
	"math"
	"strconv"

	"github.com/mcp-jail/mcp-jail/internal/show"
)

// number appends a number as ECMAScript prints the double that it stands for (RFC 8785,
// section 3.2.2.3).
func (s *scanner) number() error {
	n, isInteger := numberLen(s.in[s.pos:])
	if n == 0 {
		return s.fail("a number is malformed")
	}
	text := s.in[s.pos : s.pos+n]
	// Any 15 digits fit into a double unchanged.
	if isInteger && n <= 15 && text[0] != '-' {
		s.out = append(s.out, text...)
		s.pos += n
		return nil
	}
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil || math.IsInf(f, 0) {
		return s.fail("the number %s is beyond the range of a double", show.Named(string(text), 40))
	}
	s.out = appendNumber(s.out, f)
	s.pos += n
	return nil
}

// numberLen returns the length of the number (RFC 8259, section 6) at the start of in, and
// whether it has neither fraction nor exponent.
func numberLen(in []byte) (n int, isInteger bool) {
	digits := func() bool {
		first := n
		for n < len(in) && in[n] >= '0' && in[n] <= '9' {
			n++
		}
		return n > first
	}
	if n < len(in) && in[n] == '-' {
		n++
	}
	if n < len(in) && in[n] == '0' {
		n++
	} else if !digits() {
		return 0, false
	}
	isInteger = true
	if n < len(in) && in[n] == '.' {
		n++
		if isInteger = false; !digits() {
			return 0, false
		}
	}
	if n < len(in) && in[n]|0x20 == 'e' {
		n++
		if n < len(in) && (in[n] == '+' || in[n] == '-') {
			n++
		}
		if isInteger = false; !digits() {
			return 0, false
		}
	}
	return n, isInteger
}

// appendNumber appends a finite double as Number::toString of ECMAScript prints it. So does
// encoding/json, but for -0.
func appendNumber(out []byte, f float64) []byte {
	text, _ := json.Marshal(f + 0) // -0 + 0 is 0
	return append(out, text...)
}
