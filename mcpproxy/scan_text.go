package mcpproxy

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// byteOrderMark is at the start of a stream of some writers. RFC 8259, "Character
// Encoding", allows readers to ignore it.
const byteOrderMark = "\xef\xbb\xbf"

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

var isEscape = [256]bool{'"': true, '\\': true, '/': true, 'b': true, 'f': true, 'n': true, 'r': true, 't': true}

// skipPlain returns the index of the first quote, backslash or control character from i on, or len(b).
// It looks at 32 bytes at a time: most of a large message is text.
func skipPlain(b []byte, i int) int {
	for ; i+32 <= len(b); i += 32 {
		w := b[i : i+32 : i+32]
		m0, m1, m2, m3 := ends(w[0:8]), ends(w[8:16]), ends(w[16:24]), ends(w[24:32])
		if (m0|m1|m2|m3)&tops == 0 {
			continue
		}
		for _, m := range [...]uint64{m0, m1, m2, m3} {
			if m &= tops; m != 0 {
				return i + bits.TrailingZeros64(m)>>3
			}
			i += 8
		}
	}
	for i < len(b) && b[i] != '"' && b[i] != '\\' && b[i] >= 0x20 {
		i++
	}
	return i
}

const (
	ones = 0x0101010101010101 // of each byte: the lowest bit
	tops = 0x8080808080808080 // the highest
)

// ends sets the highest bit of the first of eight bytes that ends a run of plain text, and maybe of later
// ones. With its second bit turned, a quote follows the control characters.
func ends(b []byte) uint64 {
	x := binary.LittleEndian.Uint64(b)
	control, slash := (x^ones*2)-ones*0x21, (x^ones*'\\')-ones
	return (control | slash) &^ x
}

// appendUnescaped appends the decoded content of a string that the scanner has found
// well-formed. ok is false for a lone surrogate, which decoders treat differently, and for
// NUL, which ends a C string.
func appendUnescaped(dst, b []byte) (out []byte, ok bool) {
	ok = true
	for i := 0; i < len(b); i++ {
		if b[i] != '\\' {
			dst = append(dst, b[i])
			continue
		}
		i++
		switch b[i] {
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 't':
			dst = append(dst, '\t')
		case 'u':
			r := hex4(b[i+1:])
			i += 4
			if utf16.IsSurrogate(r) {
				low := rune(utf8.RuneError)
				if i+6 < len(b) && b[i+1] == '\\' && b[i+2] == 'u' {
					low = hex4(b[i+3:])
				}
				if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
					ok = false
				} else {
					i += 6
				}
			}
			ok = ok && r != 0
			dst = utf8.AppendRune(dst, r)
		default:
			dst = append(dst, b[i])
		}
	}
	return dst, ok
}

func hex4(b []byte) (r rune) {
	for _, c := range b[:4] {
		r <<= 4
		switch {
		case c <= '9':
			r |= rune(c - '0')
		default:
			r |= rune(c|0x20-'a') + 10
		}
	}
	return r
}

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

const (
	maxText      = 1 << 20 // bytes of text that are captured of one frame
	keepTokenCap = 1 << 16 // bytes of a buffer for tokens that is kept from frame to frame
	maxBatch     = 4096    // messages of a batch that are scanned
)

func (s *scanner) scope() scope {
	if s.depth < len(s.scopes) {
		return s.scopes[s.depth]
	}
	return scopeNone
}

func (s *scanner) inObject() bool {
	d := s.depth
	return s.object[d>>6]>>(d&63)&1 == 1
}

// envelope returns the message that is being scanned. Inside a member whose name
// differs from a known one in case only (see scanner.shadowDepth), it returns a scratch
// envelope. Most readers ignore such a member, and some do not.
func (s *scanner) envelope() *Envelope {
	if s.shadowDepth != 0 {
		return &s.scratch
	}
	return &s.msgs[len(s.msgs)-1]
}

// beginValue notes the start of a value: the member that it belongs to and the token to
// capture. It returns the scope that the value opens if it is a container.
func (s *scanner) beginValue(c byte, at int64) scope {
	p, m := s.scope(), s.nextKey
	s.nextKey, s.valueSpan, s.capturing = keyUnknown, nil, false
	switch {
	case p == scopeNone && s.depth > 0:
		return scopeNone
	case c == '{' && (s.depth == 0 || p == scopeBatch):
		return s.beginMessage(at)
	case s.depth == 0:
		return scopeBatch
	case p == scopeBatch:
		s.skipped++
		return scopeNone
	case m == keyUnknown:
		return scopeNone
	case s.foldedKey:
		s.foldedKey = false
		if s.shadowDepth == 0 {
			if c != '{' && c != '[' {
				return scopeNone
			}
			s.shadowDepth = s.depth + 1
		}
	}
	span, inside := s.target(p, m, c)
	if span != nil {
		*span = Span{Start: at, Kind: c}
		s.valueSpan = span
		if m == keyReserved {
			span.Start = s.keyAt
		}
	}
	if (c == '[') != (inside == scopeContent) {
		inside = scopeNone
	}
	return inside
}

func (s *scanner) beginMessage(at int64) scope {
	if len(s.msgs) == maxBatch {
		s.flaws |= FlawBounds
		s.skipped++
		s.unread = true
		return scopeNone
	}
	s.msgs = append(s.msgs, Envelope{Self: Span{Start: at, Kind: '{'}})
	return scopeMessage
}

func (s *scanner) openContainer(c byte, at int64) state {
	p := s.beginValue(c, at)
	span := s.valueSpan
	s.valueSpan = nil
	if s.depth == maxDepth {
		s.deep = true
		s.closeMessage(at)
		return sBad
	}
	s.depth++
	d := s.depth
	if d < len(s.scopes) {
		s.scopes[d], s.openSpans[d] = p, span
	}
	if c == '[' {
		s.object[d>>6] &^= 1 << (d & 63)
		return sValueOrEnd
	}
	s.object[d>>6] |= 1 << (d & 63)
	if p != scopeNone {
		s.keys[p].reset()
	}
	return sKeyOrEnd
}

func (s *scanner) closeContainer(end int64, empty bool) state {
	if s.depth < len(s.scopes) {
		if span := s.openSpans[s.depth]; span != nil {
			span.End, span.Empty = end, empty
		}
	}
	if s.depth == s.shadowDepth {
		s.shadowDepth = 0
	}
	s.depth--
	if s.depth == 0 {
		s.valueEnd = end
	}
	if s.depth == 0 || s.scope() == scopeBatch {
		s.closeMessage(end)
	}
	return s.afterValue()
}

func (s *scanner) closeMessage(end int64) {
	// Only spans of the last envelope may be pointed to: earlier ones move when the slice grows.
	if n := len(s.msgs); n > 0 && s.msgs[n-1].Self.End == 0 {
		s.msgs[n-1].Self.End = end
		s.msgs[n-1].Recognised = s.keys[scopeMessage].isMessage()
	}
}

func (s *scanner) afterValue() state {
	if s.depth == 0 {
		return sDone
	}
	return sAfter
}

// endString handles the end of a string, which ends before b[i] with its closing quote.
func (s *scanner) endString(b []byte, mark, i int) state {
	if !s.isName {
		return s.endScalar(b, mark, i)
	}
	s.nextKey = keyUnknown
	if s.capturing {
		s.appendToken(b[mark : i-1])
	}
	if s.capturing { // appendToken has not reached the bound
		s.capturing = false
		s.addName(s.text(s.token))
	}
	return sColon
}

// addName notes the decoded name of the next member.
func (s *scanner) addName(name []byte) {
	p := s.scope()
	known, flaw := s.keys[p].add(p, name)
	s.nextKey, s.foldedKey = known, flaw&FlawCase != 0 && known != keyUnknown
	s.flaws |= flaw
	if known != keyUnknown {
		return
	}
	switch p {
	case scopeResultMeta, scopeParamsMeta, scopeErrorData, scopeExperimental:
		if len(name) > len(ReservedPrefix) && bytes.EqualFold(name[:len(ReservedPrefix)], []byte(ReservedPrefix)) {
			s.nextKey = keyReserved
		}
	}
}

// endScalar handles the end of a scalar value, which ends before b[i].
func (s *scanner) endScalar(b []byte, mark, i int) state {
	if s.valueSpan != nil {
		s.valueSpan.End = s.off + int64(i)
		s.valueSpan = nil
	}
	if s.capturing {
		s.appendToken(b[mark:i])
	}
	if s.capturing {
		s.capturing = false
		s.storeToken()
	}
	return s.afterValue()
}

func (s *scanner) appendToken(part []byte) {
	if s.kept+len(s.token)+len(part) > maxText {
		s.flaws |= FlawBounds
		s.capturing = false
		s.unread = s.unread || s.isName
		return
	}
	s.token = append(s.token, part...)
}

// storeToken gives a whole token to the envelope.
func (s *scanner) storeToken() {
	token := s.token
	if isString := token[0] == '"'; isString && s.decode {
		token = s.text(token[1 : len(token)-1])
	} else if isString {
		s.text(bytes.Clone(token[1 : len(token)-1])) // for its flaws
	}
	*s.into = bytes.Clone(token)
	s.kept += len(token)
}

// text decodes the content of a string in place.
func (s *scanner) text(content []byte) []byte {
	if !s.hasEscape {
		return content
	}
	out, ok := appendUnescaped(content[:0], content)
	if !ok {
		s.flaws |= FlawText
	}
	return out
}
