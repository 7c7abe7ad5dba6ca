package mcpproxy

// Frame is one line of a stream, its end included, with what its envelope says.
// One that a Reader returned is valid until the next call of that Reader: see
// Detach. What is said here of frames holds for one goroutine at a time.
type Frame struct {
	// Messages is one message, several for a batch, none for a line that is no
	// JSON-RPC. It is filled in for an oversized frame too.
	Messages []Envelope
	Batch    bool
	Flaws    Flaw
	Size     int64 // bytes, line end included

	// Oversized: the frame is beyond the limit (or, with Err set, could not be
	// kept) and its bytes are gone. It cannot be sent.
	Oversized bool
	Err       error

	line      []byte // the bytes, unless they are in the spill
	spill     *spill
	spillBase int64 // where they begin in it
	firstByte byte
	edits     []edit
	skipped   int  // elements of a batch that are not among Messages
	detached  bool // line and Messages are no reader's: see Detach
}

// Junk reports whether the frame is no MCP message and never was meant to be
// one: not JSON, cut off, or neither an object nor an array with an object in
// it. A message with something behind it on the line, a duplicate name or
// invalid UTF-8 is not junk.
func (f *Frame) Junk() bool {
	return f.Flaws.Has(FlawMalformed) || len(f.Messages) == 0
}

// Blank reports whether the line holds nothing but white space.
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

// Edited reports whether something was inserted or taken out.
func (f *Frame) Edited() bool { return len(f.edits) > 0 }

// hasLineEnd reports whether the frame has a line end: the last one of a stream may lack it.
func (f *Frame) hasLineEnd() bool { return f.byteAt(f.Size-1) == '\n' }

// reset makes the frame ready for the next line.
func (f *Frame) reset() {
	f.Close()
	clear(f.edits)
	*f = Frame{edits: f.edits[:0]}
}
