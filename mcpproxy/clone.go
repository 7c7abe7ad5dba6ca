package mcpproxy

import (
	"bytes"
	"slices"
)

// Parse returns the frame that a Reader would return for line. The frame keeps line, which
// must not change afterwards, and stays valid without a limit in time, as the result of
// Detach does. Parse applies no size limit. A line end may only be at the end of line.
func Parse(line []byte) *Frame {
	var s Scanner
	return parse(&s, line)
}

// parse returns a frame whose envelopes point into s.
func parse(s *Scanner, line []byte) *Frame {
	f := &Frame{line: line, Size: int64(len(line)), detached: true}
	if line == nil {
		f.line = []byte{}
	}
	f.Messages, f.Flaws = s.Scan(line)
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
	d.Messages = cloneEnvelopes(f.Messages)
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

func cloneEnvelopes(messages []Envelope) []Envelope {
	out := slices.Clone(messages)
	size := 0
	for i := range out {
		for _, text := range out[i].captured() {
			size += len(*text)
		}
	}
	texts := make([]byte, 0, size)
	for i := range out {
		for _, text := range out[i].captured() {
			if *text != nil {
				from := len(texts)
				texts = append(texts, *text...)
				*text = texts[from:len(texts):len(texts)]
			}
		}
		for j, own := range out[i].Reserved {
			if j == 0 {
				out[i].Reserved = slices.Clone(out[i].Reserved)
			}
			span := *own
			out[i].Reserved[j] = &span
		}
	}
	return out
}

// captured returns the members of an envelope that point into a Scanner.
func (e *Envelope) captured() [7]*[]byte {
	return [...]*[]byte{&e.ID, &e.Method, &e.Name, &e.Code, &e.Version, &e.Cancels, &e.Token}
}
