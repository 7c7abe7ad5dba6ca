package mcpproxy

// Scan scans one whole line and returns what its message or messages say. The
// line end may be included. Result and line stay valid until the next use of s.
func (s *Scanner) Scan(line []byte) ([]Envelope, Flaw) {
	s.Reset()
	s.Feed(line)
	return s.Finish()
}

// state is what the scanner expects next.
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
	sTrail                   // behind a second value: nothing more is looked at
	sBad                     // malformed: nothing more is looked at
)

// maxDepth is the nesting that encoding/json accepts.
const maxDepth = 10000

// levels is how many of them are looked into. The deepest value whose end is
// wanted is a member of ours in params.capabilities.experimental of a message in
// a batch; level 0 is outside of everything.
const levels = 7

// Scanner is an incremental scan of one frame: Reset, Feed any number of times,
// Finish. It checks the whole grammar of JSON, keeps a bounded amount of memory
// whatever it is fed, and allocates nothing once it is warm.
type Scanner struct {
	state state
	off   int64 // bytes fed before the current chunk
	flaws Flaw
	top   byte // first byte of the outermost value; 0 for a blank line

	depth  int
	object [maxDepth/64 + 1]uint64 // one bit a level: an object, not an array
	where  [levels]place           // by depth, as far as anything is known
	open   [levels]*Span           // the same: whose End the close sets
	names  [places]names

	str   strKind // what the current string is
	esc   bool    // it has a backslash
	hex   int8    // digits of \uXXXX still to come
	lit   string  // rest of the current literal
	next  member  // whose value comes next, in the place at depth
	keyAt int64   // where its name starts
	value *Span   // the scalar being read, if anybody wants to know its end

	folded bool // next is what it is only but for its case
	shadow int  // depth of a container with such a name; 0: not inside of one

	capturing bool
	want      member
	text      []byte // what was captured; envelopes point into it
	from      int    // start of the current token in text

	marks int // bytes of a byte order mark at the start

	rune  [4]byte // an unfinished character at the end of the last chunk
	runes int

	msgs  []Envelope
	caps  []captures
	stray int // elements of a batch that are no messages, or too many

	scratch     Envelope // in a shadow
	scratchCaps captures
}

type strKind uint8

const (
	strValue strKind = iota
	strName
)

// Reset prepares for the next frame.
func (s *Scanner) Reset() {
	s.state, s.off, s.flaws, s.top, s.depth = sValue, 0, 0, 0, 0
	s.next, s.value, s.capturing, s.runes = unknown, nil, false, 0
	s.folded, s.shadow, s.marks = false, 0, 0
	s.msgs, s.caps, s.stray = s.msgs[:0], s.caps[:0], 0
	if cap(s.text) > keepText {
		s.text = nil
	}
	s.text = s.text[:0]
}

// Feed scans the next chunk of the frame. Nothing of b is kept.
func (s *Scanner) Feed(b []byte) {
	s.checkText(b)
	mark := 0 // where the captured token starts in b
	st := s.state
	i := 0
loop:
	for i < len(b) {
		c := b[i]
		switch st {
		case sString:
			for {
				i = plain(b, i)
				if i+1 >= len(b) || b[i] != '\\' || !simpleEscape[b[i+1]] {
					break
				}
				s.esc = true
				i += 2
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
				s.esc = true
				st = sEscape
			default: // RFC 8259, "Strings": control characters must be escaped
				st = sBad
			}
		case sEscape:
			switch {
			case simpleEscape[c]:
				st = sString
			case c == 'u':
				s.hex = 4
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
			if s.hex--; s.hex == 0 {
				st = sString
			}

		case sKeyOrEnd, sKey:
			switch {
			case c == '"':
				s.str, s.esc = strName, false
				i++
				if s.capturing = s.place() != nowhere; s.capturing {
					mark, s.from = i, len(s.text)
					s.keyAt = s.off + int64(i) - 1
				}
				st = sString
			case isSpace(c):
				s.space(c)
				i++
			case c == '}' && st == sKeyOrEnd:
				i++
				st = s.close(s.off+int64(i), true)
			default:
				st = sBad
			}
		case sColon:
			switch {
			case c == ':':
				i++
				st = sValue
			case isSpace(c):
				s.space(c)
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
				st = s.close(s.off+int64(i), false)
			case isSpace(c):
				s.space(c)
				i++
			default:
				st = sBad
			}
		case sValue, sValueOrEnd:
			switch {
			case s.depth == 0 && s.off+int64(i) == int64(s.marks) && s.marks < len(byteOrderMark) && c == byteOrderMark[s.marks]:
				s.marks++
				s.flaws |= FlawText
				i++
			case s.marks == 1 || s.marks == 2: // half of one
				st = sBad
			case c == '"':
				s.begin(c, s.off+int64(i))
				s.str, s.esc = strValue, false
				if s.capturing {
					mark, s.from = i, len(s.text)
				}
				i++
				st = sString
			case c == '{':
				st = s.push(c, s.off+int64(i))
				i++
			case c == '[':
				st = s.push(c, s.off+int64(i))
				i++
			case isSpace(c):
				s.space(c)
				i++
			case c == ']' && st == sValueOrEnd:
				i++
				st = s.close(s.off+int64(i), true)
			default:
				if s.depth == 0 {
					s.top = c
				}
				if st = s.beginScalar(c); st == sBad {
					break
				}
				s.begin(c, s.off+int64(i))
				if s.capturing {
					mark, s.from = i, len(s.text)
				}
				i++
			}

		case sLiteral:
			if n := len(s.lit); len(b)-i >= n && string(b[i:i+n]) == s.lit {
				i += n
				s.lit = ""
				st = s.endScalar(b, mark, i)
				break
			}
			if c != s.lit[0] {
				st = sBad
				break
			}
			i++
			if s.lit = s.lit[1:]; s.lit == "" {
				st = s.endScalar(b, mark, i)
			}
		case sMinus, sZero, sDigits, sDot, sFraction, sExp, sExpSign, sExpDigits:
			if st == sMinus && c == 'I' {
				st = s.beginScalar(c)
				i++
				break
			}
			to := number(st, c)
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
		s.capture(b[mark:])
	}
	s.state = st
	s.off += int64(len(b))
}
