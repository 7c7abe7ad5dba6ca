package mcpproxy

const (
	maxText  = 1 << 20 // captured text of one frame
	keepText = 1 << 16 // what is kept from frame to frame
	maxBatch = 4096    // members of a batch that are looked into
)

// captures are the tokens of one envelope, as ranges of Scanner.text. The zero
// range is an absent token: see Scanner.Finish.
type captures struct{ id, method, name, code, version [2]int }

// place returns what the innermost open container is.
func (s *Scanner) place() place {
	if s.depth < len(s.where) {
		return s.where[s.depth]
	}
	return nowhere
}

func (s *Scanner) inObject() bool {
	d := s.depth
	return s.object[d>>6]>>(d&63)&1 == 1
}

// envelope is the message being scanned.
func (s *Scanner) envelope() (*Envelope, *captures) {
	return &s.msgs[len(s.msgs)-1], &s.caps[len(s.caps)-1]
}

// begin notes the start of a value: whose member it is, and what to capture. It
// returns the place that the value is when it turns out to be a container.
func (s *Scanner) begin(c byte, at int64) place {
	p, m := s.place(), s.next
	s.next, s.value, s.capturing, s.want = unknown, nil, false, unknown
	if p == nowhere && s.depth > 0 {
		return nowhere
	}
	if s.depth == 0 {
		s.top = c
		if c == '{' {
			return s.message()
		}
		return inBatch
	}
	if p == inBatch {
		if c == '{' {
			return s.message()
		}
		return nowhere
	}
	if m == unknown {
		return nowhere
	}
	e, _ := s.envelope()
	var span *Span
	inside := nowhere
	switch {
	case p == inEnvelope && m == mParams:
		span, inside = &e.Params, inParams
		e.ParamsMeta = Span{}
		s.drop(mName, mVersion)
	case p == inEnvelope && m == mResult:
		span, inside = &e.Result, inResult
		e.ResultMeta, e.Content, e.IsError = Span{}, Span{}, false
	case p == inEnvelope && m == mError:
		span, inside = &e.Error, inError
		s.drop(mCode)
	case p == inParams && m == mMeta:
		span, inside = &e.ParamsMeta, inParamsMeta
		s.drop(mVersion)
	case p == inResult && m == mMeta:
		span, inside = &e.ResultMeta, inResultMeta
	case p == inResult && m == mContent:
		span, inside = &e.Content, inContent
	case p == inResult && m == mIsError:
		e.IsError = c == 't'
	case p == inEnvelope && m == mJSONRPC:
		e.JSONRPC = true
	case m == mID:
		s.drop(mID)
		if c == '{' || c == '[' || c == 't' || c == 'f' {
			s.flaws |= FlawID
			break
		}
		s.want, s.capturing = mID, true
	case m == mMethod || m == mName || m == mVersion:
		s.drop(m)
		if c == '"' {
			s.want, s.capturing = m, true
		}
	case m == mCode:
		s.drop(mCode)
		if c == '-' || '0' <= c && c <= '9' {
			s.want, s.capturing = mCode, true
		}
	}
	if span != nil {
		*span = Span{Start: at, Kind: c}
		s.value = span
		if (c == '[') != (inside == inContent) {
			inside = nowhere
		}
	}
	return inside
}

// message opens a new envelope.
func (s *Scanner) message() place {
	if len(s.msgs) == maxBatch {
		s.flaws |= FlawBounds
		return nowhere
	}
	s.msgs = append(s.msgs, Envelope{})
	s.caps = append(s.caps, captures{})
	return inEnvelope
}

// drop forgets captured members: of two values for one name the last one counts,
// as it does for encoding/json and for JavaScript.
func (s *Scanner) drop(ms ...member) {
	_, c := s.envelope()
	for _, m := range ms {
		*c.of(m) = [2]int{}
	}
}

func (c *captures) of(m member) *[2]int {
	switch m {
	case mID:
		return &c.id
	case mMethod:
		return &c.method
	case mName:
		return &c.name
	case mCode:
		return &c.code
	}
	return &c.version
}

// push opens a container.
func (s *Scanner) push(c byte, at int64) state {
	p := s.begin(c, at)
	span := s.value
	s.value = nil
	if s.depth == maxDepth {
		return sBad
	}
	s.depth++
	d := s.depth
	if d < len(s.where) {
		s.where[d], s.open[d] = p, span
	}
	if c == '[' {
		s.object[d>>6] &^= 1 << (d & 63)
		return sValueOrEnd
	}
	s.object[d>>6] |= 1 << (d & 63)
	if p != nowhere {
		s.names[p].reset()
	}
	return sKeyOrEnd
}

// close closes the innermost container, which ends before end.
func (s *Scanner) close(end int64, empty bool) state {
	if s.depth < len(s.where) {
		if span := s.open[s.depth]; span != nil {
			span.End, span.Empty = end, empty
		}
	}
	s.depth--
	return s.after()
}

// after is the state behind a value.
func (s *Scanner) after() state {
	if s.depth == 0 {
		return sDone
	}
	return sAfter
}

// endString takes the string that ends before b[i], quote included.
func (s *Scanner) endString(b []byte, mark, i int) state {
	if s.str != strName {
		return s.endScalar(b, mark, i)
	}
	s.next = unknown
	if s.capturing {
		s.capture(b[mark : i-1])
	}
	if s.capturing { // still: the bound was not met
		s.capturing = false
		name := s.text[s.from:]
		if s.esc {
			name = s.unescape(name)
		}
		p := s.place()
		var flaw Flaw
		s.next, flaw = s.names[p].add(p, name)
		s.flaws |= flaw
		s.text = s.text[:s.from]
	}
	return sColon
}

// endScalar takes the value that ends before b[i].
func (s *Scanner) endScalar(b []byte, mark, i int) state {
	if s.value != nil {
		s.value.End = s.off + int64(i)
		s.value = nil
	}
	if s.capturing {
		s.capture(b[mark:i])
	}
	if s.capturing {
		s.capturing = false
		if s.want != mID && s.want != mCode { // a string: without quotes, decoded
			s.from++
			inner := s.text[s.from : len(s.text)-1]
			if s.esc {
				inner = s.unescape(inner)
			}
			s.text = s.text[:s.from+len(inner)]
		}
		_, c := s.envelope()
		*c.of(s.want) = [2]int{s.from, len(s.text)}
	}
	return s.after()
}

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
