package mcpproxy

const (
	maxText  = 1 << 20 // captured text of one frame
	keepText = 1 << 16 // what is kept from frame to frame
	maxBatch = 4096    // members of a batch that are looked into
)

// captures are the tokens of one envelope, as ranges of Scanner.text. The zero
// range is an absent token: see Scanner.Finish.
type captures struct {
	id, method, name, code, version, cancels, token [2]int

	progress   [2]int // params.progressToken
	progressAt Span
}

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
	switch {
	case p == nowhere && s.depth > 0:
		return nowhere
	case s.depth == 0:
		s.top = c
		if c == '{' {
			return s.message(at)
		}
		return inBatch
	case p == inBatch:
		if c == '{' {
			return s.message(at)
		}
		s.stray++
		return nowhere
	case m == unknown:
		return nowhere
	case s.folded:
		s.folded = false
		if s.shadow == 0 {
			if c != '{' && c != '[' {
				return nowhere
			}
			s.shadow = s.depth + 1
		}
	}
	span, inside := s.member(p, m, c)
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
		s.stray++
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
		s.keep()
	}
	return s.after()
}
