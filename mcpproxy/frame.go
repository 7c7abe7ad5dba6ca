package mcpproxy

import (
	"bytes"
	"io"
	"os"
	"slices"
)

// Frame is one line of a stream, its end included, with what its envelope says.
// It is valid until the next call of the Reader that returned it.
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

	line    []byte   // the bytes, unless they are in the spill
	spill   *os.File // an unlinked file with all of them
	top     byte
	inserts []insert
}

// insert is a text that goes in front of the byte at an offset.
type insert struct {
	at   int64
	text []byte
}

// Junk reports whether the frame is no MCP message and never was meant to be
// one: not JSON, cut off, or neither an object nor an array with an object in
// it. A message with something behind it on the line, a duplicate name or
// invalid UTF-8 is not junk.
func (f *Frame) Junk() bool {
	return f.Flaws.Has(FlawMalformed) || len(f.Messages) == 0
}

// Blank reports whether the line holds nothing but white space.
func (f *Frame) Blank() bool { return f.top == 0 }

// Bytes returns the line as it was read, or nil when it is not held in memory.
func (f *Frame) Bytes() []byte { return f.line }

// Slice returns the bytes of a value, or nil when they are not held in memory.
func (f *Frame) Slice(s Span) []byte {
	if s.End > int64(len(f.line)) || s.Start >= s.End {
		return nil
	}
	return f.line[s.Start:s.End]
}

// Amended reports whether something was inserted.
func (f *Frame) Amended() bool { return len(f.inserts) > 0 }

// ended reports whether the frame has a line end.
func (f *Frame) ended() bool {
	return f.spill != nil || len(f.line) > 0 && f.line[len(f.line)-1] == '\n'
}

// insertAt keeps the inserts in order; of two at one place the earlier stands first.
func (f *Frame) insertAt(at int64, text []byte) {
	i := len(f.inserts)
	for i > 0 && f.inserts[i-1].at > at {
		i--
	}
	f.inserts = slices.Insert(f.inserts, i, insert{at, text})
}

// writeTo writes the frame with its inserts. scratch is used, and returned grown,
// to make one write of a small frame that has inserts.
func (f *Frame) writeTo(w io.Writer, scratch []byte) ([]byte, error) {
	if f.spill != nil {
		return scratch, f.writeParts(w, io.NewSectionReader(f.spill, 0, f.Size))
	}
	if len(f.inserts) == 0 {
		_, err := w.Write(f.line)
		return scratch, err
	}
	if len(f.line) > 1<<16 {
		return scratch, f.writeParts(w, bytes.NewReader(f.line))
	}
	scratch = f.appendTo(scratch[:0])
	_, err := w.Write(scratch)
	return scratch, err
}

func (f *Frame) appendTo(dst []byte) []byte {
	var done int64
	for _, in := range f.inserts {
		dst = append(dst, f.line[done:in.at]...)
		dst = append(dst, in.text...)
		done = in.at
	}
	return append(dst, f.line[done:]...)
}

func (f *Frame) writeParts(w io.Writer, r io.Reader) error {
	var done int64
	for _, in := range f.inserts {
		if _, err := io.CopyN(w, r, in.at-done); err != nil {
			return err
		}
		if _, err := w.Write(in.text); err != nil {
			return err
		}
		done = in.at
	}
	_, err := io.Copy(w, r)
	return err
}

// reset makes the frame ready for the next line.
func (f *Frame) reset() {
	if f.spill != nil {
		f.spill.Close()
	}
	clear(f.inserts)
	*f = Frame{inserts: f.inserts[:0]}
}
