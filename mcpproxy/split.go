package mcpproxy

import (
	"bytes"
	"io"
	"slices"
)

// Split returns the messages of a batch as detached frames: the bytes of each followed by
// a newline, with the edits that lie within it. Messages that were cut out are left out. Each
// frame has the flaws of the whole batch, because a flaw that makes one message ambiguous
// may affect another. stray counts the missing elements: those that are not objects, to
// which JSON-RPC responds without an id, and those after the first 4096. A malformed or
// oversized batch has no messages. For a frame that is not a batch, Split returns the
// frame itself, detached.
//
// f must not be used afterwards. Close each of the messages: they may share its file.
func (f *Frame) Split() (messages []*Frame, stray int) {
	switch {
	case !f.Batch:
		return []*Frame{f.Detach()}, 0
	case f.Flaws.Has(FlawMalformed) || f.line == nil && f.spill == nil:
		return nil, f.skipped
	}
	var s scanner
	for i := range f.Messages {
		if m := f.part(f.Messages[i].Self, &s); m != nil {
			messages = append(messages, m)
		}
	}
	return messages, f.skipped
}

// part returns the message at a span as a frame, or nil when it was cut out. It copies what is in
// memory, so that one message does not keep the whole batch. In a file it overwrites the byte after
// the message, which is a comma, a bracket or white space.
func (f *Frame) part(at Span, s *scanner) *Frame {
	m := &Frame{Size: at.End - at.Start + 1, firstByte: '{', detached: true}
	for _, e := range f.edits {
		switch {
		case e.at <= at.Start && e.to >= at.End:
			return nil
		case e.at >= at.Start && e.to <= at.End:
			m.edits = append(m.edits, edit{e.at - at.Start, e.to - at.Start, e.text})
		}
	}
	s.reset()
	if f.spill == nil {
		m.line = bytes.Clone(f.line[at.Start : at.End+1])
		m.line[m.Size-1] = '\n'
		s.feed(m.line)
	} else {
		m.spill, m.spillBase = f.spill.share(), f.spillBase+at.Start
		if _, m.Err = m.spill.WriteAt([]byte{'\n'}, m.spillBase+m.Size-1); m.Err == nil {
			_, m.Err = io.Copy(scannerWriter{s}, io.NewSectionReader(m.spill, m.spillBase, m.Size))
		}
	}
	found, flaws := s.finish()
	m.Messages, m.Flaws = slices.Clone(found), flaws|f.Flaws
	if m.Err != nil {
		m.Oversized = true
		m.Close()
	}
	return m
}

// scannerWriter is an io.Writer that feeds a scanner.
type scannerWriter struct{ *scanner }

func (f scannerWriter) Write(b []byte) (int, error) {
	f.feed(b)
	return len(b), nil
}
