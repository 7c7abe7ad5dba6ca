package mcpproxy

import "bytes"

const (
	maxText     = 1 << 20 // bytes of text that are captured of one frame
	keepTextCap = 1 << 16 // bytes of a text buffer that is kept from frame to frame
	maxBatch    = 4096    // messages of a batch that are scanned
)

// fields holds the captured tokens of one envelope as ranges of Scanner.text. The zero
// range means that the token is absent: see Scanner.resolveToken.
type fields struct {
	id, method, name, code, version, cancels, token [2]int

	progress   [2]int // params.progressToken
	progressAt Span
}

func (s *Scanner) scope() scope {
	if s.depth < len(s.scopes) {
		return s.scopes[s.depth]
	}
	return scopeNone
}

func (s *Scanner) inObject() bool {
	d := s.depth
	return s.object[d>>6]>>(d&63)&1 == 1
}

// envelope returns the message that is being scanned. Inside a member whose name
// differs from a known one in case only (see Scanner.shadowDepth), it returns a scratch
// envelope. Most readers ignore such a member, and some do not.
func (s *Scanner) envelope() (*Envelope, *fields) {
	if s.shadowDepth != 0 {
		return &s.scratch, &s.scratchFields
	}
	return &s.msgs[len(s.msgs)-1], &s.fields[len(s.fields)-1]
}

// beginValue notes the start of a value: the member that it belongs to and the token to
// capture. It returns the scope that the value opens if it is a container.
func (s *Scanner) beginValue(c byte, at int64) scope {
	p, m := s.scope(), s.nextKey
	s.nextKey, s.valueSpan, s.capturing, s.capturedKey = keyUnknown, nil, false, keyUnknown
	switch {
	case p == scopeNone && s.depth > 0:
		return scopeNone
	case s.depth == 0:
		s.firstByte = c
		if c == '{' {
			return s.beginMessage(at)
		}
		return scopeBatch
	case p == scopeBatch:
		if c == '{' {
			return s.beginMessage(at)
		}
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

func (s *Scanner) beginMessage(at int64) scope {
	if len(s.msgs) == maxBatch {
		s.flaws |= FlawBounds
		s.skipped++
		s.unread = true
		return scopeNone
	}
	if n := len(s.msgs); n < cap(s.msgs) && n < cap(s.fields) { // without a copy, since both are large
		s.msgs, s.fields = s.msgs[:n+1], s.fields[:n+1]
		s.msgs[n], s.fields[n] = Envelope{}, fields{}
	} else {
		s.msgs, s.fields = append(s.msgs, Envelope{}), append(s.fields, fields{})
	}
	s.msgs[len(s.msgs)-1].Self = Span{Start: at, Kind: '{'}
	return scopeMessage
}

func (s *Scanner) openContainer(c byte, at int64) state {
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

func (s *Scanner) closeContainer(end int64, empty bool) state {
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

func (s *Scanner) closeMessage(end int64) {
	// Only spans of the last envelope may be pointed to: earlier ones move when the slice grows.
	if n := len(s.msgs); n > 0 && s.msgs[n-1].Self.End == 0 {
		s.msgs[n-1].Self.End = end
		s.msgs[n-1].Recognised = s.keys[scopeMessage].isMessage()
	}
}

func (s *Scanner) afterValue() state {
	if s.depth == 0 {
		return sDone
	}
	return sAfter
}

// endString handles the end of a string, which ends before b[i] with its closing quote.
func (s *Scanner) endString(b []byte, mark, i int) state {
	if s.str != strKey {
		return s.endScalar(b, mark, i)
	}
	s.nextKey = keyUnknown
	if s.capturing {
		s.appendToken(b[mark : i-1])
	}
	if s.capturing { // appendToken has not reached the bound
		s.capturing = false
		name := s.text[s.tokenStart:]
		if s.hasEscape {
			name = s.unescape(name)
		}
		p := s.scope()
		var flaw Flaw
		s.nextKey, flaw = s.keys[p].add(p, name)
		s.foldedKey = flaw&FlawCase != 0 && s.nextKey != keyUnknown
		s.flaws |= flaw
		if s.nextKey == keyUnknown && len(name) > len(ReservedPrefix) && (p == scopeResultMeta || p == scopeParamsMeta || p == scopeErrorData || p == scopeExperimental) && bytes.EqualFold(name[:len(ReservedPrefix)], []byte(ReservedPrefix)) {
			s.nextKey = keyReserved
		}
		s.text = s.text[:s.tokenStart]
	}
	return sColon
}

// endScalar handles the end of a scalar value, which ends before b[i].
func (s *Scanner) endScalar(b []byte, mark, i int) state {
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
