package mcpproxy

import "strconv"

// AddMember inserts `"name": value` as the last member of the object at obj,
// one of the spans of the frame's envelopes. Nothing else of the frame changes.
// It reports false, and does nothing, when there is no object there. value must
// be JSON and is not copied.
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
	f.insertAt(obj.End-1, text)
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
	f.insertAt(arr.End-1, append(text, value...))
	arr.Empty = false
	return true
}

// AddMeta inserts a member into the _meta of outer, which is made when it is
// missing: AddMeta(&e.Result, &e.ResultMeta, …). It reports false, and does
// nothing, when outer is no object or its _meta is something else than one. Once
// a frame for an outer whose _meta is missing.
func (f *Frame) AddMeta(outer, meta *Span, name string, value []byte) bool {
	if meta.Present() {
		return f.AddMember(meta, name, value)
	}
	object := append(strconv.AppendQuote([]byte{'{'}, name), ':')
	object = append(append(object, value...), '}')
	return f.AddMember(outer, "_meta", object)
}
