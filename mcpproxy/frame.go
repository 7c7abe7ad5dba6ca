package mcpproxy

import (
	"bytes"
	"io"
	"os"
	"slices"
	"sync/atomic"
)

// Frame is one line of a stream, including its line end, with the envelopes of its
// messages. A frame returned by a Reader is valid until the next call of that Reader: see
// Detach. A Frame may be used by one goroutine at a time.
type Frame struct {
	// Messages holds one message, several for a batch, and none for a line that is not
	// JSON-RPC. It is filled in for an oversized frame too.
	Messages []Envelope
	Batch    bool
	Flaws    Flaw
	Size     int64 // bytes, line end included

	// Oversized means that the frame is dropped: it exceeds the limit, or Err is set. Err says why
	// the bytes could not be kept or must not be forwarded, as for ErrTooDeep and
	// ErrSeveralLines. Such a frame must not be sent.
	Oversized bool
	Err       error

	line      []byte // the bytes, unless spill holds them
	spill     *spill
	spillBase int64 // offset of the frame in spill
	firstByte byte  // of the outermost value; 0 for a blank line
	edits     []edit
	skipped   int  // elements of a batch that are not in Messages
	unread    bool // reserved members may be missing in Messages
	detached  bool // line and Messages do not belong to a Reader: see Detach
}

// NonMessage reports whether the line cannot be meant as an MCP message: it is not JSON, it is
// cut off, or it is neither an object nor an array with an object in it. A message with
// text after it on the line, with a duplicate name or with invalid UTF-8 is still a message.
func (f *Frame) NonMessage() bool {
	return f.Flaws.Has(FlawMalformed) || len(f.Messages) == 0
}

// Noise reports whether a line of a server is not for its client: a NonMessage, or JSON without the
// members of a JSON-RPC message, such as a line of a log.
func (f *Frame) Noise() bool {
	return f.NonMessage() || !anyRecognised(f.Messages)
}

func anyRecognised(messages []Envelope) bool {
	return slices.ContainsFunc(messages, func(e Envelope) bool { return e.Recognised })
}

// Blank reports whether the line holds only white space.
func (f *Frame) Blank() bool { return f.firstByte == 0 }

// Bytes returns the line as it was read, or nil when it is not held in memory.
func (f *Frame) Bytes() []byte { return f.line }

// Slice returns the bytes of a value, or nil when they are not held in memory.
func (f *Frame) Slice(s Span) []byte {
	if s.End > int64(len(f.line)) || s.Start >= s.End {
		return nil
	}
	return f.line[s.Start:s.End]
}

// CopyTo writes the frame as it would be sent.
func (f *Frame) CopyTo(w io.Writer) error {
	_, err := f.writeTo(w, nil)
	return err
}

func (f *Frame) hasLineEnd() bool { return f.byteAt(f.Size-1) == '\n' }

func (f *Frame) reset() {
	f.Close()
	clear(f.edits)
	*f = Frame{edits: f.edits[:0]}
}

// Parse returns the frame that a Reader would return for line. The frame keeps line, which
// must not change afterwards, and stays valid without a limit in time, as the result of
// Detach does. Parse applies no size limit. A line end may only be at the end of line.
func Parse(line []byte) *Frame {
	var s scanner
	f := &Frame{line: line, Size: int64(len(line)), detached: true}
	if line == nil {
		f.line = []byte{}
	}
	f.Messages, f.Flaws = s.scan(line)
	f.firstByte, f.skipped = s.firstByte, s.skipped
	f.Batch = f.firstByte == '['
	return f
}

// Detach returns a frame with the same bytes, envelopes and edits that stays valid when
// the Reader reads on. A frame in memory is copied. A frame in a file shares that file, so
// Close the detached frame when it is no longer needed. f does not change. Detach returns
// f itself if f is detached already or was made by Parse or Split.
func (f *Frame) Detach() *Frame {
	if f.detached {
		return f
	}
	return f.Clone()
}

// Clone returns a frame with the same bytes, envelopes and edits. Editing or closing one
// of the two does not affect the other.
func (f *Frame) Clone() *Frame {
	d := *f
	d.detached = true
	d.line = bytes.Clone(f.line)
	d.spill = f.spill.share()
	d.edits = slices.Clone(f.edits)
	d.Messages = slices.Clone(f.Messages)
	return &d
}

// Close releases what a frame holds outside memory. A frame whose bytes were there can
// no longer be sent. Reader.Next closes the Reader's own frame.
func (f *Frame) Close() {
	if f.spill != nil {
		f.spill.release()
		f.spill = nil
	}
}

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

// spill holds the bytes of a frame that is too large for memory in a file without a name.
// When no file can be made, or the file takes no more (a full disk, a limit), the bytes move
// to memory. So bytes once accepted are never lost, and twice the frame limit bounds the
// memory. Several frames may share a spill: a frame and its detached copy, or the messages
// of a batch.
type spill struct {
	file   *os.File // nil when the bytes are in memory
	memory []byte
	end    int64
	users  atomic.Int32
}

func newSpill() *spill {
	s := new(spill)
	s.users.Store(1)
	s.file, _ = tempFile() // nil after an error
	return s
}

// Write appends p.
func (s *spill) Write(p []byte) (int, error) { return s.WriteAt(p, s.end) }

// WriteAt writes at an offset that is at most the end.
func (s *spill) WriteAt(p []byte, at int64) (int, error) {
	if s.file != nil {
		if _, err := s.file.WriteAt(p, at); err != nil {
			if err := s.leaveFile(); err != nil {
				return 0, err
			}
		}
	}
	end := max(s.end, at+int64(len(p)))
	if s.file == nil {
		s.memory = append(s.memory, make([]byte, end-s.end)...)
		copy(s.memory[at:], p)
	}
	s.end = end
	return len(p), nil
}

// leaveFile moves the bytes to memory.
func (s *spill) leaveFile() error {
	s.memory = make([]byte, s.end)
	if _, err := s.file.ReadAt(s.memory, 0); err != nil {
		return err
	}
	s.file.Close()
	s.file = nil
	return nil
}

// ReadAt implements io.ReaderAt.
func (s *spill) ReadAt(p []byte, at int64) (n int, err error) {
	if s.file != nil {
		return s.file.ReadAt(p, at)
	}
	return bytes.NewReader(s.memory).ReadAt(p, at)
}

func (s *spill) share() *spill {
	if s != nil {
		s.users.Add(1)
	}
	return s
}

func (s *spill) release() {
	if s.users.Add(-1) == 0 && s.file != nil {
		s.file.Close()
	}
}

// tempFile returns a file whose name has been removed. It fails on Windows, where an open file cannot be
// removed.
func tempFile() (*os.File, error) {
	f, err := os.CreateTemp("", "mcp-jail-frame-")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		os.Remove(f.Name())
		return nil, err
	}
	return f, nil
}
