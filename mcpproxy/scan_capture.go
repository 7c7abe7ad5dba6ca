package mcpproxy

import "bytes"

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
