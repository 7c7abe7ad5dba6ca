package mcpproxy

const (
	maxText  = 1 << 20 // captured text of one frame
	keepText = 1 << 16 // what is kept from frame to frame
	maxBatch = 4096    // members of a batch that are looked into
)

// captures are the tokens of one envelope, as ranges of Scanner.text. The zero
// range is an absent token: see Scanner.Finish.
type captures struct{ id, method, name, code, version, cancels [2]int }

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

// envelope is the message being scanned. In the shadow of a name that is a known
// one but for its case it is a scratch one: most readers do not see what stands
// there, but some do.
func (s *Scanner) envelope() (*Envelope, *captures) {
	if s.shadow != 0 {
		return &s.scratch, &s.scratchCaps
	}
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
			return s.message(at)
		}
		return inBatch
	}
	if p == inBatch {
		if c == '{' {
			return s.message(at)
		}
		return nowhere
	}
	if m == unknown {
		return nowhere
	}
	if s.folded {
		s.folded = false
		if s.shadow == 0 {
			if c != '{' && c != '[' {
				return nowhere
			}
			s.shadow = s.depth + 1
		}
	}
	e, _ := s.envelope()
	var span *Span
	inside := nowhere
	switch {
	case p == inEnvelope && m == mParams:
		span, inside = &e.Params, inParams
		if e.Params.Present() { // a second one
			e.ParamsMeta, e.Capabilities, e.Roots, e.Experimental, e.Inputs = Span{}, Span{}, Span{}, Span{}, Span{}
			s.drop(mName, mVersion, mRequestID)
		}
	case p == inEnvelope && m == mResult:
		span, inside = &e.Result, inResult
		e.ResultMeta, e.Content, e.IsError = Span{}, Span{}, false
	case p == inEnvelope && m == mError:
		span, inside = &e.Error, inError
		s.drop(mCode)
	case p == inParams && m == mMeta:
		span, inside = &e.ParamsMeta, inParamsMeta
		s.drop(mVersion)
	case p == inParams && m == mCapabilities:
		span, inside = &e.Capabilities, inCapabilities
		e.Roots, e.Experimental = Span{}, Span{}
	case p == inCapabilities && m == mExperimental:
		span, inside = &e.Experimental, inExperimental
	case p == inCapabilities && m == mRoots:
		span = &e.Roots
	case p == inParams && m == mInputs:
		span = &e.Inputs
	case p == inError && m == mData:
		inside = inErrorData
	case m == mOwn:
		if own := &s.msgs[len(s.msgs)-1].Own; len(*own) < MaxOwn {
			*own = append(*own, &Span{})
			span = (*own)[len(*own)-1]
		} else {
			s.flaws |= FlawBounds
		}
	case p == inResult && m == mMeta:
		span, inside = &e.ResultMeta, inResultMeta
	case p == inResult && m == mContent:
		span, inside = &e.Content, inContent
	case p == inResult && m == mIsError:
		e.IsError = c == 't'
	case p == inEnvelope && m == mJSONRPC:
		e.JSONRPC = true
	case m == mRequestID:
		s.drop(mRequestID)
		if c == '"' || c == '-' || '0' <= c && c <= '9' {
			s.want, s.capturing = mRequestID, true
		}
	case m == mID:
		s.drop(mID)
		if c != '"' && c != '-' && c != 'n' && (c < '0' || c > '9') {
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
		if m == mOwn {
			span.Start = s.keyAt
		}
	}
	if (c == '[') != (inside == inContent) {
		inside = nowhere
	}
	return inside
}

// message opens a new envelope.
func (s *Scanner) message(at int64) place {
	if len(s.msgs) == maxBatch {
		s.flaws |= FlawBounds
		return nowhere
	}
	if n := len(s.msgs); n < cap(s.msgs) && n < cap(s.caps) { // in place: they are large
		s.msgs, s.caps = s.msgs[:n+1], s.caps[:n+1]
		s.msgs[n], s.caps[n] = Envelope{}, captures{}
	} else {
		s.msgs, s.caps = append(s.msgs, Envelope{}), append(s.caps, captures{})
	}
	s.msgs[len(s.msgs)-1].Self = Span{Start: at, Kind: '{'}
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
	case mRequestID:
		return &c.cancels
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
	if s.depth == s.shadow {
		s.shadow = 0
	}
	s.depth--
	if s.depth == 0 || s.place() == inBatch {
		s.closeMessage(end)
	}
	return s.after()
}

// closeMessage notes where a message ends. The spans of envelopes that are still
// growing cannot be pointed into, except for those of the last one.
func (s *Scanner) closeMessage(end int64) {
	if n := len(s.msgs); n > 0 && s.msgs[n-1].Self.End == 0 {
		s.msgs[n-1].Self.End = end
	}
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
		s.folded = flaw&FlawCase != 0 && s.next != unknown
		s.flaws |= flaw
		if s.next == unknown && len(name) > len(OwnPrefix) && (p == inResultMeta || p == inParamsMeta || p == inErrorData || p == inExperimental) && string(name[:len(OwnPrefix)]) == OwnPrefix {
			s.next = mOwn
		}
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
		if s.want != mID && s.want != mCode && s.want != mRequestID { // a string: without quotes, decoded
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
