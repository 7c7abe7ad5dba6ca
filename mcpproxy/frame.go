package mcpproxy

import (
	"io"
	"slices"
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
