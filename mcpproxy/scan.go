package mcpproxy

import (
	"unicode/utf8"
)

// scan scans one whole line, with or without its line end, and returns the envelopes of its
// messages. They are valid until the next use of s.
func (s *scanner) scan(line []byte) ([]Envelope, Flaw) {
	s.reset()
	s.feed(line)
	return s.finish()
}

// state is the position in the grammar: what the scanner expects next.
type state uint8

const (
	sValue      state = iota // a value
	sValueOrEnd              // after '[': a value or ']'
	sKeyOrEnd                // after '{': a name or '}'
	sKey                     // after ',' in an object
	sColon                   // after a name
	sAfter                   // after a value inside a container
	sDone                    // after the outermost value
	sString                  // inside a string
	sEscape                  // after its backslash
	sHex                     // in \uXXXX
	sMinus                   // number: after '-'
	sZero                    // number: after a leading 0
	sDigits                  // number: in the integer part
	sDot                     // number: after '.'
	sFraction                // number: in the fraction
	sExp                     // number: after 'e'
	sExpSign                 // number: after the sign of the exponent
	sExpDigits               // number: in the exponent
	sLiteral                 // in true, false or null
	sTrail                   // after a second value: the rest is ignored
	sBad                     // malformed: the rest is ignored
)

// maxDepth is the nesting depth that encoding/json accepts.
const maxDepth = 10000

// maxScopes is the number of nesting levels whose scope is recorded. The deepest value
// whose end is needed is a reserved member in params.capabilities.experimental of a
// message in a batch. Level 0 is outside all containers.
const maxScopes = 7

// scanner scans one frame incrementally: call reset, then feed any number of times, then
// finish. It checks the whole grammar of JSON, and uses a bounded amount of memory for any
// input.
type scanner struct {
	state     state
	off       int64 // bytes fed before the current part
	flaws     Flaw
	firstByte byte // first byte of the outermost value; 0 for a blank line

	valueEnd int64 // end of the outermost container, once it is read

	depth     int
	deep      bool                    // it ended at maxDepth
	object    [maxDepth/64 + 1]uint64 // one bit for each level: object or array
	scopes    [maxScopes]scope        // by depth
	openSpans [maxScopes]*Span        // by depth: the span whose End closeContainer sets
	keys      [scopeCount]keySet

	isName      bool   // the current string is the name of a member
	hasEscape   bool   // the current string holds a backslash
	hexLeft     int8   // digits of \uXXXX that are still to come
	literalRest string // the rest of the current literal
	nextKey     key    // the member whose value comes next
	keyAt       int64  // offset of its name
	valueSpan   *Span  // span of the scalar being read, or nil

	foldedKey   bool // the name of nextKey is written in another case
	shadowDepth int  // depth of the container with such a name that surrounds this value; 0 for none

	capturing bool
	token     []byte  // what was read of the token that is captured
	into      *[]byte // the member of an envelope that gets it
	decode    bool    // it is stored decoded and without quotes
	kept      int     // bytes of such tokens in the envelopes

	bomBytes    int    // bytes of a byte order mark seen at the start
	partialRune []byte // an incomplete character at the end of the last part

	msgs    []Envelope
	skipped int  // elements of a batch that are not messages, or are too many
	unread  bool // a name or a message was not read, because of a bound

	scratch Envelope // for members inside shadowDepth
}

// reset prepares for the next frame.
func (s *scanner) reset() {
	keys, msgs, token := s.keys, s.msgs[:0], s.token[:0]
	if cap(token) > keepTokenCap {
		token = nil
	}
	*s = scanner{keys: keys, msgs: msgs, token: token}
}

// feed scans the next part of the frame. It keeps no reference to b.
//
// feed is one long function because it is one state machine: every case reads and sets the
// position, the state and the start of a captured token, which stay local variables here.
func (s *scanner) feed(b []byte) {
	s.checkUTF8(b)
	mark := 0 // where the captured token starts in b
	st := s.state
	i := s.skipByteOrderMark(b)
	if i < len(b) && (s.bomBytes == 1 || s.bomBytes == 2) {
		st = sBad
	}
	for i < len(b) && st < sTrail {
		c := b[i]
		if st <= sDone && isSpace(c) {
			if c != ' ' && c != '\t' && s.depth > 0 {
				s.flaws |= FlawLine
			}
			i++
			continue
		}
		switch st {
		case sString:
			for i = skipPlain(b, i); i+1 < len(b) && b[i] == '\\' && isEscape[b[i+1]]; i = skipPlain(b, i+2) {
				s.hasEscape = true
			}
			if i == len(b) {
				break
			}
			switch b[i] {
			case '"':
				i++
				st = s.endString(b, mark, i)
			case '\\':
				i++
				s.hasEscape = true
				st = sEscape
			default: // RFC 8259, "Strings": control characters must be escaped
				st = sBad
			}
		case sEscape:
			i++
			switch {
			case isEscape[c]:
				st = sString
			case c == 'u':
				s.hexLeft = 4
				st = sHex
			default:
				st = sBad
			}
		case sHex:
			if !isHex(c) {
				st = sBad
				break
			}
			i++
			if s.hexLeft--; s.hexLeft == 0 {
				st = sString
			}
		case sKeyOrEnd, sKey:
			i++
			switch {
			case c == '"':
				s.isName, s.hasEscape, s.capturing = true, false, s.scope() != scopeNone
				s.keyAt = s.off + int64(i) - 1
				s.token, mark = s.token[:0], i
				st = sString
			case c == '}' && st == sKeyOrEnd:
				st = s.closeContainer(s.off+int64(i), true)
			default:
				st = sBad
			}
		case sColon:
			i++
			if st = sValue; c != ':' {
				st = sBad
			}
		case sAfter:
			i++
			switch {
			case c == ',' && s.inObject():
				st = sKey
			case c == ',':
				st = sValue
			case c == '}' && s.inObject(), c == ']' && !s.inObject():
				st = s.closeContainer(s.off+int64(i), false)
			default:
				st = sBad
			}
		case sValue, sValueOrEnd:
			at := s.off + int64(i)
			s.token, mark = s.token[:0], i
			i++
			if s.depth == 0 {
				s.firstByte = c
			}
			switch {
			case c == ']' && st == sValueOrEnd:
				st = s.closeContainer(at+1, true)
			case c == '{' || c == '[':
				st = s.openContainer(c, at)
			default:
				if st = s.beginScalar(c); st != sBad {
					s.beginValue(c, at)
				}
			}
		case sLiteral:
			if c != s.literalRest[0] {
				st = sBad
				break
			}
			i++
			if s.literalRest = s.literalRest[1:]; s.literalRest == "" {
				st = s.endScalar(b, mark, i)
			}
		case sDone:
			s.flaws |= FlawTrailing
			st = sTrail
		default: // a number
			if st == sMinus && c == 'I' {
				st = s.beginScalar(c)
				i++
				break
			}
			if to := nextNumberState(st, c); to != sDone {
				st = to
				i++
			} else { // c is not part of the number
				st = s.endScalar(b, mark, i)
			}
		}
	}
	if s.capturing && st < sTrail {
		s.appendToken(b[mark:])
	}
	s.state = st
	s.off += int64(len(b))
}

// skipByteOrderMark returns the bytes of a byte order mark at the start of the frame.
func (s *scanner) skipByteOrderMark(b []byte) (n int) {
	for n < len(b) && s.bomBytes < len(byteOrderMark) && s.off+int64(n) == int64(s.bomBytes) && b[n] == byteOrderMark[s.bomBytes] {
		s.bomBytes++
		s.flaws |= FlawText
		n++
	}
	return n
}

// finish ends the frame and returns its envelopes and flaws.
func (s *scanner) finish() ([]Envelope, Flaw) {
	if s.state >= sMinus && s.state <= sExpDigits && nextNumberState(s.state, ' ') == sDone {
		s.state = s.endScalar(nil, 0, 0)
	}
	if s.state != sDone && s.state != sTrail {
		s.flaws |= FlawMalformed
	}
	if len(s.partialRune) > 0 {
		s.flaws |= FlawText
	}
	for i := range s.msgs {
		e := &s.msgs[i]
		if string(e.Method) == methodProgress {
			e.Token, e.TokenAt = e.progress, e.progressAt
		}
		s.flaws |= e.messageFlaws()
	}
	return s.msgs, s.flaws
}

// methodProgress is the notification that carries the progress token of another message.
const methodProgress = "notifications/progress"

// checkUTF8 notes invalid UTF-8. A character may lie in two parts.
func (s *scanner) checkUTF8(b []byte) {
	if len(s.partialRune) > 0 {
		b = append(s.partialRune, b...)
	}
	whole := len(b)
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if last := b[len(b)-n:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				whole = len(b) - n
			}
			break
		}
	}
	if !utf8.Valid(b[:whole]) {
		s.flaws |= FlawText
	}
	s.partialRune = append(s.partialRune[:0], b[whole:]...)
}

// target returns the span of the envelope that records the member m of the scope p, if
// any, and the scope that the member opens as a container. It also starts the capture of a
// wanted token. Of two values for one name the last one counts, as in encoding/json and
// JavaScript: the record of the first one is cleared.
func (s *scanner) target(p scope, m key, c byte) (*Span, scope) {
	if m == keyReserved {
		return s.reservedSpan(), scopeNone
	}
	e := s.envelope()
	switch p {
	case scopeMessage:
		return s.messageTarget(e, m, c)
	case scopeParams:
		return s.paramsTarget(e, m, c)
	case scopeParamsMeta:
		if m == keyToken {
			return s.captureID(&e.Token, &e.TokenAt, c), scopeNone
		}
		s.captureString(&e.Version, c)
	case scopeResult:
		switch m {
		case keyMeta:
			return &e.ResultMeta, scopeResultMeta
		case keyContent:
			return &e.Content, scopeContent
		case keyIsError:
			e.IsError = c == 't'
		}
	case scopeError:
		switch m {
		case keyCode:
			if e.Code = nil; c != '"' {
				s.captureID(&e.Code, new(Span), c)
			}
		case keyData:
			return &e.ErrorData, scopeErrorData
		case keyMessage:
			return &e.ErrorMessage, scopeNone
		}
	case scopeCapabilities:
		if m == keyExperimental {
			return &e.Experimental, scopeExperimental
		}
		return &e.Roots, scopeNone
	}
	return nil, scopeNone
}

func (s *scanner) messageTarget(e *Envelope, m key, c byte) (*Span, scope) {
	switch m {
	case keyID:
		if c == 'n' { // JSON-RPC allows null as an id
			s.capture(&e.ID)
			return &e.IDAt, scopeNone
		}
		span := s.captureID(&e.ID, &e.IDAt, c)
		if span == nil {
			s.flaws |= FlawID
		}
		return span, scopeNone
	case keyMethod:
		s.captureString(&e.Method, c)
		if c != '"' && c != 'n' {
			s.flaws |= FlawShape
		}
	case keyParams:
		if e.Params.Present() { // a duplicate
			e.ParamsMeta, e.Capabilities, e.Roots, e.Experimental, e.Inputs = Span{}, Span{}, Span{}, Span{}, Span{}
			e.CancelsAt, e.TokenAt, e.progressAt = Span{}, Span{}, Span{}
			e.Name, e.Version, e.Cancels, e.Token, e.progress = nil, nil, nil, nil, nil
		}
		return &e.Params, scopeParams
	case keyResult:
		e.ResultMeta, e.Content, e.IsError = Span{}, Span{}, false
		return &e.Result, scopeResult
	case keyError:
		e.Code, e.ErrorData, e.ErrorMessage = nil, Span{}, Span{}
		return &e.Error, scopeError
	}
	return nil, scopeNone
}

func (s *scanner) paramsTarget(e *Envelope, m key, c byte) (*Span, scope) {
	switch m {
	case keyName:
		s.captureString(&e.Name, c)
	case keyMeta:
		e.Version, e.Token, e.TokenAt = nil, nil, Span{}
		return &e.ParamsMeta, scopeParamsMeta
	case keyCapabilities:
		e.Roots, e.Experimental = Span{}, Span{}
		return &e.Capabilities, scopeCapabilities
	case keyInputs:
		return &e.Inputs, scopeNone
	case keyRequestID:
		return s.captureID(&e.Cancels, &e.CancelsAt, c), scopeNone
	case keyProgress:
		return s.captureID(&e.progress, &e.progressAt, c), scopeNone
	}
	return nil, scopeNone
}

func (s *scanner) reservedSpan() *Span {
	own := &s.msgs[len(s.msgs)-1].Reserved
	if len(*own) == MaxReserved {
		s.flaws |= FlawBounds
		return nil
	}
	*own = append(*own, &Span{})
	return (*own)[len(*own)-1]
}

// capture has the token that begins stored unchanged. A former value is forgotten.
func (s *scanner) capture(into *[]byte) {
	*into = nil
	s.capturing, s.into, s.decode = true, into, false
}

func (s *scanner) captureString(into *[]byte, c byte) {
	s.capture(into)
	s.capturing, s.decode = c == '"', true
}

// captureID captures a string or a number, and returns span. Of other values it keeps neither.
func (s *scanner) captureID(into *[]byte, span *Span, c byte) *Span {
	s.capture(into)
	if s.capturing = c == '"' || c == '-' || '0' <= c && c <= '9'; !s.capturing {
		*span = Span{}
		return nil
	}
	return span
}
