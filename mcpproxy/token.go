package mcpproxy

// capture appends a part of the current token.
func (s *Scanner) capture(part []byte) {
	if len(s.text)+len(part) > maxText {
		s.flaws |= FlawBounds
		s.capturing = false
		s.text = s.text[:s.from]
		return
	}
	s.text = append(s.text, part...)
}

// keep notes the token that ends s.text: a method, name or version without its
// quotes and decoded, everything else as it is.
func (s *Scanner) keep() {
	if s.want == mMethod || s.want == mName || s.want == mVersion {
		s.from++
		inner := s.text[s.from : len(s.text)-1]
		if s.esc {
			inner = s.unescape(inner)
		}
		s.text = s.text[:s.from+len(inner)]
	} else if s.esc && s.text[s.from] == '"' {
		end := len(s.text)
		if _, ok := appendUnescaped(s.text[end:], s.text[s.from+1:end-1]); !ok {
			s.flaws |= FlawText
		}
	}
	_, t := s.envelope()
	*t.of(s.want) = [2]int{s.from, len(s.text)}
}

// progress is the notification whose token is that of another message.
const progress = "notifications/progress"

// Finish ends the frame.
func (s *Scanner) Finish() ([]Envelope, Flaw) {
	if s.state >= sMinus && s.state <= sExpDigits && number(s.state, ' ') == sDone {
		s.state = s.endScalar(nil, 0, 0)
	}
	if s.state != sDone && s.state != sTrail {
		s.flaws |= FlawMalformed
	}
	if s.runes > 0 {
		s.flaws |= FlawText
	}
	for i := range s.msgs {
		e, c := &s.msgs[i], &s.caps[i]
		e.ID, e.Method, e.Name, e.Code, e.Version = s.token(c.id), s.token(c.method), s.token(c.name), s.token(c.code), s.token(c.version)
		e.Cancels, e.Token = s.token(c.cancels), s.token(c.token)
		if string(e.Method) == progress {
			e.Token, e.TokenAt = s.token(c.progress), c.progressAt
		}
		s.flaws |= e.shape()
	}
	return s.msgs, s.flaws
}

// token resolves a range. A captured token never starts at 0 with length 0: a
// string keeps its opening quote before it, everything else has a byte.
func (s *Scanner) token(r [2]int) []byte {
	if r == [2]int{} {
		return nil
	}
	return s.text[r[0]:r[1]:r[1]]
}

// unescape decodes the escapes of a string in place; the result is never longer.
func (s *Scanner) unescape(b []byte) []byte {
	out, ok := appendUnescaped(b[:0], b)
	if !ok {
		s.flaws |= FlawText
	}
	return out
}
