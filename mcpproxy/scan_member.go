package mcpproxy

// target returns the span of the envelope that records the member m of the scope p, if
// any, and the scope that the member opens as a container. It also starts the capture of a
// wanted token. Of two values for one name the last one counts, as in encoding/json and
// JavaScript: the record of the first one is cleared.
func (s *scanner) target(p scope, m key, c byte) (*Span, scope) {
	if m == keyReserved {
		return s.reservedSpan(), scopeNone
	}
	e := s.envelope()
	switch p {
	case scopeMessage:
		return s.messageTarget(e, m, c)
	case scopeParams:
		return s.paramsTarget(e, m, c)
	case scopeParamsMeta:
		if m == keyToken {
			return s.captureID(&e.Token, &e.TokenAt, c), scopeNone
		}
		s.captureString(&e.Version, c)
	case scopeResult:
		switch m {
		case keyMeta:
			return &e.ResultMeta, scopeResultMeta
		case keyContent:
			return &e.Content, scopeContent
		case keyIsError:
			e.IsError = c == 't'
		}
	case scopeError:
		switch m {
		case keyCode:
			if e.Code = nil; c != '"' {
				s.captureID(&e.Code, new(Span), c)
			}
		case keyData:
			return &e.ErrorData, scopeErrorData
		case keyMessage:
			return &e.ErrorMessage, scopeNone
		}
	case scopeCapabilities:
		if m == keyExperimental {
			return &e.Experimental, scopeExperimental
		}
		return &e.Roots, scopeNone
	}
	return nil, scopeNone
}

func (s *scanner) messageTarget(e *Envelope, m key, c byte) (*Span, scope) {
	switch m {
	case keyID:
		if c == 'n' { // JSON-RPC allows null as an id
			s.capture(&e.ID)
			return &e.IDAt, scopeNone
		}
		span := s.captureID(&e.ID, &e.IDAt, c)
		if span == nil {
			s.flaws |= FlawID
		}
		return span, scopeNone
	case keyMethod:
		s.captureString(&e.Method, c)
		if c != '"' && c != 'n' {
			s.flaws |= FlawShape
		}
	case keyParams:
		if e.Params.Present() { // a duplicate
			e.ParamsMeta, e.Capabilities, e.Roots, e.Experimental, e.Inputs = Span{}, Span{}, Span{}, Span{}, Span{}
			e.CancelsAt, e.TokenAt, e.progressAt = Span{}, Span{}, Span{}
			e.Name, e.Version, e.Cancels, e.Token, e.progress = nil, nil, nil, nil, nil
		}
		return &e.Params, scopeParams
	case keyResult:
		e.ResultMeta, e.Content, e.IsError = Span{}, Span{}, false
		return &e.Result, scopeResult
	case keyError:
		e.Code, e.ErrorData, e.ErrorMessage = nil, Span{}, Span{}
		return &e.Error, scopeError
	}
	return nil, scopeNone
}

func (s *scanner) paramsTarget(e *Envelope, m key, c byte) (*Span, scope) {
	switch m {
	case keyName:
		s.captureString(&e.Name, c)
	case keyMeta:
		e.Version, e.Token, e.TokenAt = nil, nil, Span{}
		return &e.ParamsMeta, scopeParamsMeta
	case keyCapabilities:
		e.Roots, e.Experimental = Span{}, Span{}
		return &e.Capabilities, scopeCapabilities
	case keyInputs:
		return &e.Inputs, scopeNone
	case keyRequestID:
		return s.captureID(&e.Cancels, &e.CancelsAt, c), scopeNone
	case keyProgress:
		return s.captureID(&e.progress, &e.progressAt, c), scopeNone
	}
	return nil, scopeNone
}

func (s *scanner) reservedSpan() *Span {
	own := &s.msgs[len(s.msgs)-1].Reserved
	if len(*own) == MaxReserved {
		s.flaws |= FlawBounds
		return nil
	}
	*own = append(*own, &Span{})
	return (*own)[len(*own)-1]
}

// capture has the token that begins stored unchanged. A former value is forgotten.
func (s *scanner) capture(into *[]byte) {
	*into = nil
	s.capturing, s.into, s.decode = true, into, false
}

func (s *scanner) captureString(into *[]byte, c byte) {
	s.capture(into)
	s.capturing, s.decode = c == '"', true
}

// captureID captures a string or a number, and returns span. Of other values it keeps neither.
func (s *scanner) captureID(into *[]byte, span *Span, c byte) *Span {
	s.capture(into)
	if s.capturing = c == '"' || c == '-' || '0' <= c && c <= '9'; !s.capturing {
		*span = Span{}
		return nil
	}
	return span
}
