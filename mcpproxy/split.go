package mcpproxy

import "io"

// Split returns the messages of a batch as detached frames: the bytes of each,
// with a newline behind them, and the edits that lie within; what is cut out is
// left out. Each has the flaws of the whole batch, since what makes one message
// ambiguous may make another one so. stray is how many elements are missing:
// those that are no objects, to which JSON-RPC would have an answer without an
// id, and those beyond the first 4096. A malformed or oversized batch has no
// messages; of what is no batch the only message is itself.
//
// f must not be used afterwards: the messages share its memory, or its file.
// Close each of them.
func (f *Frame) Split() (messages []*Frame, stray int) {
	switch {
	case !f.Batch:
		return []*Frame{f.Detach()}, 0
	case f.Flaws.Has(FlawMalformed) || f.line == nil && f.spill == nil:
		return nil, f.skipped
	}
	whole := f.Detach()
	var s Scanner
	for i := range whole.Messages {
		if m := whole.part(whole.Messages[i].Self, &s); m != nil {
			messages = append(messages, m)
		}
	}
	if whole != f {
		whole.Close()
	}
	return messages, f.skipped
}

// part returns the message at a span as a frame, or nil when it is cut out. What
// follows it in a batch is a comma, a bracket or white space, and is overwritten.
func (f *Frame) part(at Span, s *Scanner) *Frame {
	m := &Frame{Size: at.End - at.Start + 1, firstByte: '{', detached: true}
	for _, e := range f.edits {
		switch {
		case e.at <= at.Start && e.to >= at.End:
			return nil
		case e.at >= at.Start && e.to <= at.End:
			m.edits = append(m.edits, edit{e.at - at.Start, e.to - at.Start, e.text})
		}
	}
	s.Reset()
	if f.spill == nil {
		m.line = f.line[at.Start : at.End+1 : at.End+1]
		m.line[m.Size-1] = '\n'
		s.Feed(m.line)
	} else {
		m.spill, m.spillBase = f.spill.share(), f.spillBase+at.Start
		if _, m.Err = m.spill.WriteAt([]byte{'\n'}, m.spillBase+m.Size-1); m.Err == nil {
			_, m.Err = io.Copy(scannerWriter{s}, io.NewSectionReader(m.spill, m.spillBase, m.Size))
		}
	}
	found, flaws := s.Finish()
	m.Messages, m.Flaws = cloneEnvelopes(found), flaws|f.Flaws
	if m.Err != nil {
		m.Oversized = true
		m.Close()
	}
	return m
}

// scannerWriter is a Scanner that is written to.
type scannerWriter struct{ *Scanner }

func (f scannerWriter) Write(b []byte) (int, error) {
	f.Feed(b)
	return len(b), nil
}
