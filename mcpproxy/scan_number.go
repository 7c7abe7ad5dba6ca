package mcpproxy

func (s *scanner) beginScalar(c byte) state {
	switch {
	case c == '"':
		s.isName, s.hasEscape = false, false
		return sString
	case c == '-':
		return sMinus
	case c == '0':
		return sZero
	case '1' <= c && c <= '9':
		return sDigits
	case c == 't':
		s.literalRest = "rue"
	case c == 'f':
		s.literalRest = "alse"
	case c == 'n':
		s.literalRest = "ull"
	case c == 'N': // NaN is not in RFC 8259: see FlawNumber
		s.literalRest = "aN"
		s.flaws |= FlawNumber
	case c == 'I':
		s.literalRest = "nfinity"
		s.flaws |= FlawNumber
	default:
		return sBad
	}
	return sLiteral
}

// nextNumberState implements the grammar of RFC 8259, "Numbers". It returns the state
// after c, sDone when c does not belong to a number that is complete before it, and sBad
// when the number is incomplete.
func nextNumberState(st state, c byte) state {
	digit := '0' <= c && c <= '9'
	switch st {
	case sMinus:
		switch {
		case c == '0':
			return sZero
		case digit:
			return sDigits
		}
		return sBad
	case sDot:
		if digit {
			return sFraction
		}
		return sBad
	case sExp, sExpSign:
		switch {
		case digit:
			return sExpDigits
		case st == sExp && (c == '+' || c == '-'):
			return sExpSign
		}
		return sBad
	}
	switch {
	case digit && st != sZero:
		return st
	case c == '.' && (st == sZero || st == sDigits):
		return sDot
	case (c == 'e' || c == 'E') && st != sExpDigits:
		return sExp
	}
	return sDone
}
