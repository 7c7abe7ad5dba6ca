package mcpproxy

import (
	"bytes"
	"slices"
)

// Parse returns the frame that a Reader would return of line, which is kept and
// must not be changed afterwards. Like what Detach returns it stays valid. There
// is no limit, and a line end may only stand at its end.
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

// Detach returns a frame with the same bytes, envelopes and edits that stays
// valid when the Reader goes on. A frame in memory is copied, one in a file
// shares it: Close the detached frame when it is done with. f itself stays what
// it is; of a frame that is detached already, or was made by Parse or Split,
// Detach returns f.
func (f *Frame) Detach() *Frame {
	if f.detached {
		return f
	}
	return f.Clone()
}

// Clone returns a frame with the same bytes, envelopes and edits that has its own
// life: what is done to one, or closing it, does nothing to the other.
func (f *Frame) Clone() *Frame {
	d := *f
	d.detached = true
	d.line = bytes.Clone(f.line)
	d.spill = f.spill.share()
	d.edits = slices.Clone(f.edits)
	d.Messages = cloneEnvelopes(f.Messages)
	return &d
}

// Close gives back what a frame holds beside memory. It cannot be sent any more
// if that was its bytes. Reader.Next does it for the Reader's own frame.
func (f *Frame) Close() {
	if f.spill != nil {
		f.spill.release()
		f.spill = nil
	}
}

// cloneEnvelopes copies envelopes with their texts.
func cloneEnvelopes(messages []Envelope) []Envelope {
	out := slices.Clone(messages)
	size := 0
	for i := range out {
		for _, text := range out[i].captured() {
			size += len(*text)
		}
	}
	room := make([]byte, 0, size)
	for i := range out {
		for _, text := range out[i].captured() {
			if *text != nil {
				from := len(room)
				room = append(room, *text...)
				*text = room[from:len(room):len(room)]
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

// captured are the members of an envelope that point into a Scanner.
func (e *Envelope) captured() [7]*[]byte {
	return [...]*[]byte{&e.ID, &e.Method, &e.Name, &e.Code, &e.Version, &e.Cancels, &e.Token}
}
