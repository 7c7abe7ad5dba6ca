package mcpproxy

func (s *Scanner) appendToken(part []byte) {
	if len(s.text)+len(part) > maxText {
		s.flaws |= FlawBounds
		s.capturing = false
		s.unread = s.unread || s.str == strKey
		s.text = s.text[:s.tokenStart]
		return
	}
	s.text = append(s.text, part...)
}

// storeToken records the token that ends s.text. A method, name or version is stored
// decoded and without quotes, every other token unchanged.
func (s *Scanner) storeToken() {
	if s.capturedKey == keyMethod || s.capturedKey == keyName || s.capturedKey == keyVersion {
		s.tokenStart++
		inner := s.text[s.tokenStart : len(s.text)-1]
		if s.hasEscape {
			inner = s.unescape(inner)
		}
		s.text = s.text[:s.tokenStart+len(inner)]
	} else if s.hasEscape && s.text[s.tokenStart] == '"' {
		end := len(s.text)
		if _, ok := appendUnescaped(s.text[end:], s.text[s.tokenStart+1:end-1]); !ok {
			s.flaws |= FlawText
		}
	}
	_, t := s.envelope()
	*t.field(s.capturedKey) = [2]int{s.tokenStart, len(s.text)}
}

// methodProgress is the notification that carries the progress token of another message.
const methodProgress = "notifications/progress"

// Finish ends the frame and returns its envelopes and flaws.
func (s *Scanner) Finish() ([]Envelope, Flaw) {
	if s.state >= sMinus && s.state <= sExpDigits && nextNumberState(s.state, ' ') == sDone {
		s.state = s.endScalar(nil, 0, 0)
	}
	if s.state != sDone && s.state != sTrail {
		s.flaws |= FlawMalformed
	}
	if s.partialLen > 0 {
		s.flaws |= FlawText
	}
	for i := range s.msgs {
		e, c := &s.msgs[i], &s.fields[i]
		e.ID, e.Method, e.Name, e.Code, e.Version = s.resolveToken(c.id), s.resolveToken(c.method), s.resolveToken(c.name), s.resolveToken(c.code), s.resolveToken(c.version)
		e.Cancels, e.Token = s.resolveToken(c.cancels), s.resolveToken(c.token)
		if string(e.Method) == methodProgress {
			e.Token, e.TokenAt = s.resolveToken(c.progress), c.progressAt
		}
		s.flaws |= e.messageFlaws()
	}
	return s.msgs, s.flaws
}

// resolveToken returns the bytes of a range. A captured token is never the range of length
// 0 at 0: a string has its opening quote before it, every other token has at least one
// byte.
func (s *Scanner) resolveToken(r [2]int) []byte {
	if r == [2]int{} {
		return nil
	}
	return s.text[r[0]:r[1]:r[1]]
}

func (s *Scanner) unescape(b []byte) []byte {
	out, ok := appendUnescaped(b[:0], b)
	if !ok {
		s.flaws |= FlawText
	}
	return out
}
