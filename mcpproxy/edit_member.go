package mcpproxy

import (
	"encoding/json"
	"strconv"
)

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
