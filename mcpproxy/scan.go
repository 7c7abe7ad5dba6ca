package mcpproxy

// Scan scans one whole line, with or without its line end, and returns the envelopes of its
// messages. They are valid until the next use of s.
func (s *Scanner) Scan(line []byte) ([]Envelope, Flaw) {
	s.Reset()
	s.Feed(line)
	return s.Finish()
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

// Scanner scans one frame incrementally: call Reset, then Feed any number of times, then
// Finish. It checks the whole grammar of JSON, uses a bounded amount of memory for any
// input, and allocates nothing once it is warm.
type Scanner struct {
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

	str         strKind // the role of the current string
	hasEscape   bool    // the current string holds a backslash
	hexLeft     int8    // digits of \uXXXX that are still to come
	literalRest string  // the rest of the current literal
	nextKey     key     // the member whose value comes next
	keyAt       int64   // offset of its name
	valueSpan   *Span   // span of the scalar being read, or nil

	foldedKey   bool // the name of nextKey is written in another case
	shadowDepth int  // depth of the container with such a name that surrounds this value; 0 for none

	capturing   bool
	capturedKey key
	text        []byte // captured tokens; envelopes point into it
	tokenStart  int    // start of the current token in text

	bomBytes int // bytes of a byte order mark seen at the start

	partialRune [4]byte // an incomplete character at the end of the last part
	partialLen  int

	msgs    []Envelope
	fields  []fields
	skipped int  // elements of a batch that are not messages, or are too many
	unread  bool // a name or a message was not read, because of a bound

	scratch       Envelope // for members inside shadowDepth
	scratchFields fields
}

type strKind uint8

const (
	strValue strKind = iota
	strKey
)

// Reset prepares for the next frame.
func (s *Scanner) Reset() {
	s.state, s.off, s.flaws, s.firstByte, s.depth = sValue, 0, 0, 0, 0
	s.nextKey, s.valueSpan, s.capturing, s.partialLen = keyUnknown, nil, false, 0
	s.foldedKey, s.shadowDepth, s.bomBytes, s.deep = false, 0, 0, false
	s.msgs, s.fields, s.skipped, s.unread = s.msgs[:0], s.fields[:0], 0, false
	if cap(s.text) > keepTextCap {
		s.text = nil
	}
	s.text = s.text[:0]
}

// Feed scans the next part of the frame. It keeps no reference to b.
func (s *Scanner) Feed(b []byte) { s.feed(b, textPrefix(b)) }

// feed is Feed for a part of which b[:ascii] is text as textPrefix finds it.
//
// feed is one long function because it is one state machine: every case reads and sets the
// position, the state and the start of a captured token, which stay local variables here.
func (s *Scanner) feed(b []byte, ascii int) {
	if s.partialLen > 0 {
		s.checkUTF8(b)
	} else {
		s.checkUTF8(b[ascii:])
	}
	mark := 0   // where the captured token starts in b
	quote := -1 // see skipText
	st := s.state
	i := 0
loop:
	for i < len(b) {
		c := b[i]
		switch st {
		case sString:
			long := false
			if i, long = s.skipWords(b, i, ascii); long {
				i, quote = s.skipText(b, i, quote, ascii)
			}
			if i >= len(b) {
				break loop
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
			switch {
			case simpleEscape[c]:
				st = sString
			case c == 'u':
				s.hexLeft = 4
				st = sHex
			default:
				st = sBad
			}
			i++
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
			switch {
			case c == '"':
				s.str, s.hasEscape = strKey, false
				i++
				if s.capturing = s.scope() != scopeNone; s.capturing {
					mark, s.tokenStart = i, len(s.text)
					s.keyAt = s.off + int64(i) - 1
				}
				st = sString
			case isSpace(c):
				s.noteSpace(c)
				i++
			case c == '}' && st == sKeyOrEnd:
				i++
				st = s.closeContainer(s.off+int64(i), true)
			default:
				st = sBad
			}
		case sColon:
			switch {
			case c == ':':
				i++
				st = sValue
			case isSpace(c):
				s.noteSpace(c)
				i++
			default:
				st = sBad
			}
		case sAfter:
			switch {
			case c == ',':
				i++
				st = sValue
				if s.inObject() {
					st = sKey
				}
			case c == '}' && s.inObject(), c == ']' && !s.inObject():
				i++
				st = s.closeContainer(s.off+int64(i), false)
			case isSpace(c):
				s.noteSpace(c)
				i++
			default:
				st = sBad
			}
		case sValue, sValueOrEnd:
			switch {
			case s.depth == 0 && s.off+int64(i) == int64(s.bomBytes) && s.bomBytes < len(byteOrderMark) && c == byteOrderMark[s.bomBytes]:
				s.bomBytes++
				s.flaws |= FlawText
				i++
			case s.bomBytes == 1 || s.bomBytes == 2: // an incomplete byte order mark
				st = sBad
			case c == '"':
				s.beginValue(c, s.off+int64(i))
				s.str, s.hasEscape = strValue, false
				if s.capturing {
					mark, s.tokenStart = i, len(s.text)
				}
				i++
				st = sString
			case c == '{':
				st = s.openContainer(c, s.off+int64(i))
				i++
			case c == '[':
				st = s.openContainer(c, s.off+int64(i))
				i++
			case isSpace(c):
				s.noteSpace(c)
				i++
			case c == ']' && st == sValueOrEnd:
				i++
				st = s.closeContainer(s.off+int64(i), true)
			default:
				if s.depth == 0 {
					s.firstByte = c
				}
				if st = s.beginScalar(c); st == sBad {
					break
				}
				s.beginValue(c, s.off+int64(i))
				if s.capturing {
					mark, s.tokenStart = i, len(s.text)
				}
				i++
			}

		case sLiteral:
			if n := len(s.literalRest); len(b)-i >= n && string(b[i:i+n]) == s.literalRest {
				i += n
				s.literalRest = ""
				st = s.endScalar(b, mark, i)
				break
			}
			if c != s.literalRest[0] {
				st = sBad
				break
			}
			i++
			if s.literalRest = s.literalRest[1:]; s.literalRest == "" {
				st = s.endScalar(b, mark, i)
			}
		case sMinus, sZero, sDigits, sDot, sFraction, sExp, sExpSign, sExpDigits:
			if st == sMinus && c == 'I' {
				st = s.beginScalar(c)
				i++
				break
			}
			to := nextNumberState(st, c)
			if to == sDone { // not part of the number
				st = s.endScalar(b, mark, i)
				break
			}
			st = to
			for i++; i < len(b) && st == sDigits && '0' <= b[i] && b[i] <= '9'; {
				i++
			}

		case sDone:
			if isSpace(c) {
				i++
				break
			}
			s.flaws |= FlawTrailing
			st = sTrail
		case sTrail, sBad:
			break loop
		}
	}
	if s.capturing && (st == sString || st == sEscape || st == sHex || st >= sMinus && st <= sLiteral) {
		s.appendToken(b[mark:])
	}
	s.state = st
	s.off += int64(len(b))
}
