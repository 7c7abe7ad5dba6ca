package mcpproxy

// target returns the span of the envelope that records the member m of the scope p, if
// any, and the scope that the member opens as a container. It also starts the capture of a
// wanted token. Of two values for one name the last one counts, as in encoding/json and
// JavaScript: the record of the first one is cleared.
func (s *Scanner) target(p scope, m key, c byte) (*Span, scope) {
	e, t := s.envelope()
	switch p {
	case scopeMessage:
		return s.messageTarget(e, t, m, c)
	case scopeParams:
		return s.paramsTarget(e, t, m, c)
	case scopeResult:
		switch m {
		case keyMeta:
			return &e.ResultMeta, scopeResultMeta
		case keyContent:
			return &e.Content, scopeContent
		case keyIsError:
			e.IsError = c == 't'
		}
		return nil, scopeNone
	}
	switch {
	case m == keyReserved:
		return s.reservedSpan(), scopeNone
	case p == scopeParamsMeta && m == keyVersion:
		s.captureString(&t.version, m, c)
	case p == scopeParamsMeta && m == keyToken:
		return s.captureID(&t.token, &e.TokenAt, m, c), scopeNone
	case p == scopeError && m == keyCode:
		if t.code = [2]int{}; c != '"' {
			s.captureID(&t.code, nil, m, c)
		}
	case p == scopeError && m == keyData:
		return &e.ErrorData, scopeErrorData
	case p == scopeError && m == keyMessage:
		return &e.ErrorMessage, scopeNone
	case p == scopeCapabilities && m == keyExperimental:
		return &e.Experimental, scopeExperimental
	case p == scopeCapabilities && m == keyRoots:
		return &e.Roots, scopeNone
	}
	return nil, scopeNone
}

func (s *Scanner) messageTarget(e *Envelope, t *fields, m key, c byte) (*Span, scope) {
	switch m {
	case keyID:
		if c == 'n' { // JSON-RPC allows null as an id
			t.id = [2]int{}
			s.capturedKey, s.capturing = m, true
			return &e.IDAt, scopeNone
		}
		span := s.captureID(&t.id, &e.IDAt, m, c)
		if span == nil {
			s.flaws |= FlawID
		}
		return span, scopeNone
	case keyMethod:
		s.captureString(&t.method, m, c)
		if c != '"' && c != 'n' {
			s.flaws |= FlawShape
		}
	case keyParams:
		if e.Params.Present() { // a duplicate
			e.ParamsMeta, e.Capabilities, e.Roots, e.Experimental, e.Inputs = Span{}, Span{}, Span{}, Span{}, Span{}
			e.CancelsAt, e.TokenAt, t.progressAt = Span{}, Span{}, Span{}
			t.name, t.version, t.cancels, t.token, t.progress = [2]int{}, [2]int{}, [2]int{}, [2]int{}, [2]int{}
		}
		return &e.Params, scopeParams
	case keyResult:
		e.ResultMeta, e.Content, e.IsError = Span{}, Span{}, false
		return &e.Result, scopeResult
	case keyError:
		t.code, e.ErrorData, e.ErrorMessage = [2]int{}, Span{}, Span{}
		return &e.Error, scopeError
	}
	return nil, scopeNone
}

func (s *Scanner) paramsTarget(e *Envelope, t *fields, m key, c byte) (*Span, scope) {
	switch m {
	case keyName:
		s.captureString(&t.name, m, c)
	case keyMeta:
		t.version, t.token, e.TokenAt = [2]int{}, [2]int{}, Span{}
		return &e.ParamsMeta, scopeParamsMeta
	case keyCapabilities:
		e.Roots, e.Experimental = Span{}, Span{}
		return &e.Capabilities, scopeCapabilities
	case keyInputs:
		return &e.Inputs, scopeNone
	case keyRequestID:
		return s.captureID(&t.cancels, &e.CancelsAt, m, c), scopeNone
	case keyProgress:
		return s.captureID(&t.progress, &t.progressAt, m, c), scopeNone
	}
	return nil, scopeNone
}

func (s *Scanner) reservedSpan() *Span {
	own := &s.msgs[len(s.msgs)-1].Reserved
	if len(*own) == MaxReserved {
		s.flaws |= FlawBounds
		return nil
	}
	*own = append(*own, &Span{})
	return (*own)[len(*own)-1]
}

func (s *Scanner) captureString(t *[2]int, m key, c byte) {
	*t = [2]int{}
	if c == '"' {
		s.capturedKey, s.capturing = m, true
	}
}

func (s *Scanner) captureID(t *[2]int, span *Span, m key, c byte) *Span {
	*t = [2]int{}
	if c != '"' && c != '-' && (c < '0' || c > '9') {
		if span != nil {
			*span = Span{}
		}
		return nil
	}
	s.capturedKey, s.capturing = m, true
	return span
}

func (t *fields) field(m key) *[2]int {
	switch m {
	case keyID:
		return &t.id
	case keyMethod:
		return &t.method
	case keyName:
		return &t.name
	case keyCode:
		return &t.code
	case keyRequestID:
		return &t.cancels
	case keyToken:
		return &t.token
	case keyProgress:
		return &t.progress
	}
	return &t.version
}
