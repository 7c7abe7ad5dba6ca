package mcpproxy

import (
	"encoding/json"
	"io"
	"slices"
	"strconv"
)

// edit replaces the bytes from at to to by text. All other bytes of the frame stay the
// same.
type edit struct {
	at, to int64
	text   []byte
}

// addEdit inserts an edit and keeps the edits in order. Of two edits at the same position the one
// that was added first comes first. Of two that overlap, the one that begins first counts.
func (f *Frame) addEdit(at, to int64, text []byte) {
	i := len(f.edits)
	for i > 0 && f.edits[i-1].at > at {
		i--
	}
	f.edits = slices.Insert(f.edits, i, edit{at, to, text})
}

// AppendTo appends the frame as it would be sent. It returns false for a frame that is not
// held in memory.
func (f *Frame) AppendTo(dst []byte) ([]byte, bool) {
	if f.line == nil {
		return dst, false
	}
	var done int64
	for _, e := range f.edits {
		if e.at < done {
			continue
		}
		dst = append(dst, f.line[done:e.at]...)
		dst = append(dst, e.text...)
		done = e.to
	}
	return append(dst, f.line[done:]...), true
}

// writeTo writes the frame with its edits. A small frame with edits is assembled in
// scratch, so that it takes one write. writeTo returns scratch, which may have grown.
func (f *Frame) writeTo(w io.Writer, scratch []byte) ([]byte, error) {
	switch {
	case f.spill != nil || len(f.line) > 1<<16 && len(f.edits) > 0:
		return scratch, f.writePart(w, 0, f.Size)
	case len(f.edits) == 0:
		_, err := w.Write(f.line)
		return scratch, err
	}
	scratch, _ = f.AppendTo(scratch[:0])
	_, err := w.Write(scratch)
	return scratch, err
}

func (f *Frame) writePart(w io.Writer, done, end int64) error {
	for _, e := range f.edits {
		if e.at < done || e.to > end {
			continue
		}
		if err := f.writeBytes(w, done, e.at); err != nil {
			return err
		}
		if _, err := w.Write(e.text); err != nil {
			return err
		}
		done = e.to
	}
	return f.writeBytes(w, done, end)
}

func (f *Frame) writeBytes(w io.Writer, from, to int64) error {
	if f.spill != nil {
		_, err := io.Copy(w, io.NewSectionReader(f.spill, f.spillBase+from, to-from))
		return err
	}
	_, err := w.Write(f.line[from:to])
	return err
}

func (f *Frame) byteAt(i int64) byte {
	switch {
	case i < 0 || i >= f.Size:
	case f.spill != nil:
		var b [1]byte
		f.spill.ReadAt(b[:], f.spillBase+i)
		return b[0]
	case i < int64(len(f.line)):
		return f.line[i]
	}
	return 0
}

// nextNonSpace returns the first offset at or after i that holds no white space. step is 1
// or -1, the direction of the search.
func (f *Frame) nextNonSpace(i, step int64) int64 {
	if f.spill != nil {
		return f.nextInFile(i, step)
	}
	for isSpace(f.byteAt(i)) {
		i += step
	}
	return i
}

// nextInFile is nextNonSpace for a frame in a file. It reads blocks: a server can write millions of
// blanks, and reading each by itself would take minutes.
func (f *Frame) nextInFile(i, step int64) int64 {
	block := make([]byte, 4<<10)
	from, to := i, i // what block holds
	for i >= 0 && i < f.Size {
		if i < from || i >= to {
			if from = i; step < 0 {
				from = max(0, i+1-int64(len(block)))
			}
			n, _ := f.spill.ReadAt(block[:min(int64(len(block)), f.Size-from)], f.spillBase+from)
			if to = from + int64(n); i >= to {
				break
			}
		}
		if !isSpace(block[i-from]) {
			break
		}
		i += step
	}
	return i
}

// AddMember inserts `"name": value` as the last member of the object at obj, which is one
// of the spans of the frame's envelopes. The rest of the frame does not change. AddMember
// returns false and does nothing when obj is not an object. value must be JSON and is not
// copied.
func (f *Frame) AddMember(obj *Span, name string, value []byte) bool {
	if obj.Kind != '{' || obj.End == 0 {
		return false
	}
	text := make([]byte, 0, len(name)+len(value)+4)
	if !obj.Empty {
		text = append(text, ',')
	}
	text = strconv.AppendQuote(text, name)
	text = append(text, ':')
	text = append(text, value...)
	f.addEdit(obj.End-1, obj.End-1, text)
	obj.Empty = false
	return true
}

// AddElement inserts value as the last element of the array at arr.
func (f *Frame) AddElement(arr *Span, value []byte) bool {
	if arr.Kind != '[' || arr.End == 0 {
		return false
	}
	text := make([]byte, 0, len(value)+1)
	if !arr.Empty {
		text = append(text, ',')
	}
	f.addEdit(arr.End-1, arr.End-1, append(text, value...))
	arr.Empty = false
	return true
}

// AppendText inserts text, without quotes, at the end of the string at s. It returns false and
// does nothing when the value is no string.
func (f *Frame) AppendText(s Span, text string) bool {
	if s.Kind != '"' || s.End-s.Start < 2 {
		return false
	}
	quoted, err := json.Marshal(text)
	if err != nil {
		return false
	}
	f.addEdit(s.End-1, s.End-1, quoted[1:len(quoted)-1])
	return true
}

// AddMeta inserts a member into the _meta of outer and creates _meta when it is missing:
// AddMeta(&e.Result, &e.ResultMeta, …). It returns false and does nothing when outer or
// its _meta is not an object. It may be called once per frame for an outer without _meta.
func (f *Frame) AddMeta(outer, meta *Span, name string, value []byte) bool {
	if meta.Present() {
		return f.AddMember(meta, name, value)
	}
	object := append(strconv.AppendQuote([]byte{'{'}, name), ':')
	object = append(append(object, value...), '}')
	return f.AddMember(outer, "_meta", object)
}

// Replace replaces the value at s. It returns false and does nothing when the value is
// absent.
func (f *Frame) Replace(s Span, value []byte) bool {
	if !s.Present() || s.End == 0 {
		return false
	}
	f.addEdit(s.Start, s.End, value)
	return true
}

// Wrap inserts before and after around the value at s. It returns false and does nothing
// when the value is absent.
func (f *Frame) Wrap(s Span, before, after []byte) bool {
	if !s.Present() || s.End == 0 {
		return false
	}
	f.addEdit(s.Start, s.Start, before)
	f.addEdit(s.End, s.End, after)
	return true
}

// Cut removes members from objects (spans from name to value, as in Envelope.Reserved) or elements
// from arrays, each with one of the commas around it. spans must be in the order of the frame.
// Each of containers that becomes empty is marked Empty. Cut may be called once for each
// container.
func (f *Frame) Cut(spans []*Span, containers ...*Span) {
	for i := 0; i < len(spans); {
		from, to := spans[i].Start, spans[i].End
		for i++; i < len(spans); i++ { // adjacent spans are removed together
			comma := f.nextNonSpace(to, 1)
			if f.byteAt(comma) != ',' || f.nextNonSpace(comma+1, 1) != spans[i].Start {
				break
			}
			to = spans[i].End
		}
		before, after := f.nextNonSpace(from-1, -1), f.nextNonSpace(to, 1)
		switch {
		case f.byteAt(after) == ',':
			to = f.nextNonSpace(after+1, 1)
		case f.byteAt(before) == ',':
			from = before
		default:
			for _, c := range containers {
				if c.Start == before && c.End == after+1 {
					c.Empty = true
				}
			}
		}
		f.addEdit(from, to, nil)
	}
}
