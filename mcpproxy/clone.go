package mcpproxy

import (
	"bytes"
	"slices"
)

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
