package mcpproxy

// member says of a known member of a place which span of the envelope it has, if
// any, and which place it is as a container; a token that is wanted is captured.
// Of two values for one name the last one counts, as it does for encoding/json
// and for JavaScript: what was known of the first is forgotten.
func (s *Scanner) member(p place, m member, c byte) (*Span, place) {
	e, t := s.envelope()
	switch p {
	case inEnvelope:
		return s.ofEnvelope(e, t, m, c)
	case inParams:
		return s.ofParams(e, t, m, c)
	case inResult:
		switch m {
		case mMeta:
			return &e.ResultMeta, inResultMeta
		case mContent:
			return &e.Content, inContent
		case mIsError:
			e.IsError = c == 't'
		}
		return nil, nowhere
	}
	switch {
	case m == mOwn:
		return s.own(), nowhere
	case p == inParamsMeta && m == mVersion:
		s.wantText(&t.version, m, c)
	case p == inParamsMeta && m == mToken:
		return s.wantID(&t.token, &e.TokenAt, m, c), nowhere
	case p == inError && m == mCode:
		if t.code = [2]int{}; c != '"' {
			s.wantID(&t.code, nil, m, c)
		}
	case p == inError && m == mData:
		return &e.ErrorData, inErrorData
	case p == inCapabilities && m == mExperimental:
		return &e.Experimental, inExperimental
	case p == inCapabilities && m == mRoots:
		return &e.Roots, nowhere
	}
	return nil, nowhere
}

func (s *Scanner) ofEnvelope(e *Envelope, t *captures, m member, c byte) (*Span, place) {
	switch m {
	case mID:
		if c == 'n' { // null is one for JSON-RPC
			t.id = [2]int{}
			s.want, s.capturing = m, true
			return &e.IDAt, nowhere
		}
		span := s.wantID(&t.id, &e.IDAt, m, c)
		if span == nil {
			s.flaws |= FlawID
		}
		return span, nowhere
	case mMethod:
		s.wantText(&t.method, m, c)
		if c != '"' && c != 'n' {
			s.flaws |= FlawShape
		}
	case mParams:
		if e.Params.Present() { // a second one
			e.ParamsMeta, e.Capabilities, e.Roots, e.Experimental, e.Inputs = Span{}, Span{}, Span{}, Span{}, Span{}
			e.CancelsAt, e.TokenAt, t.progressAt = Span{}, Span{}, Span{}
			t.name, t.version, t.cancels, t.token, t.progress = [2]int{}, [2]int{}, [2]int{}, [2]int{}, [2]int{}
		}
		return &e.Params, inParams
	case mResult:
		e.ResultMeta, e.Content, e.IsError = Span{}, Span{}, false
		return &e.Result, inResult
	case mError:
		t.code, e.ErrorData = [2]int{}, Span{}
		return &e.Error, inError
	case mJSONRPC:
		e.JSONRPC = true
	}
	return nil, nowhere
}

func (s *Scanner) ofParams(e *Envelope, t *captures, m member, c byte) (*Span, place) {
	switch m {
	case mName:
		s.wantText(&t.name, m, c)
	case mMeta:
		t.version, t.token, e.TokenAt = [2]int{}, [2]int{}, Span{}
		return &e.ParamsMeta, inParamsMeta
	case mCapabilities:
		e.Roots, e.Experimental = Span{}, Span{}
		return &e.Capabilities, inCapabilities
	case mInputs:
		return &e.Inputs, nowhere
	case mRequestID:
		return s.wantID(&t.cancels, &e.CancelsAt, m, c), nowhere
	case mProgress:
		return s.wantID(&t.progress, &t.progressAt, m, c), nowhere
	}
	return nil, nowhere
}

// own returns the span for a member of ours.
func (s *Scanner) own() *Span {
	own := &s.msgs[len(s.msgs)-1].Own
	if len(*own) == MaxOwn {
		s.flaws |= FlawBounds
		return nil
	}
	*own = append(*own, &Span{})
	return (*own)[len(*own)-1]
}

// wantText captures a value if it is a string.
func (s *Scanner) wantText(t *[2]int, m member, c byte) {
	*t = [2]int{}
	if c == '"' {
		s.want, s.capturing = m, true
	}
}

// wantID captures a value if it is a string or a number, and returns the span of
// such a one.
func (s *Scanner) wantID(t *[2]int, span *Span, m member, c byte) *Span {
	*t = [2]int{}
	if c != '"' && c != '-' && (c < '0' || c > '9') {
		if span != nil {
			*span = Span{}
		}
		return nil
	}
	s.want, s.capturing = m, true
	return span
}

// of returns where the token of a member is noted.
func (t *captures) of(m member) *[2]int {
	switch m {
	case mID:
		return &t.id
	case mMethod:
		return &t.method
	case mName:
		return &t.name
	case mCode:
		return &t.code
	case mRequestID:
		return &t.cancels
	case mToken:
		return &t.token
	case mProgress:
		return &t.progress
	}
	return &t.version
}
