package edit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/tailscale/hujson"
)

func (f *File) parseJSON() (*node, error) {
	if at := tooDeep(f.src); at >= 0 {
		return nil, f.syntax(f.line(at), "it is nested more than %d levels deep", maxDepth)
	}
	// hujson wants a line end after a last comment. One more does not move any offset.
	v, err := hujson.Parse(append(bytes.Clone(f.text()), '\n'))
	if err != nil {
		line, column := 0, 0
		_, _ = fmt.Sscanf(err.Error(), "hujson: line %d, column %d:", &line, &column)
		return nil, f.syntax(line, "%s", errors.Unwrap(err))
	}
	b := &jsonBuilder{skipped: f.skipped(), lines: lineCounter{src: f.src, cuts: f.cuts}}
	root := b.node(&v)
	// The second parser must accept the file, too.
	if _, err := decodeJSON(f.src); err != nil {
		return nil, f.syntax(0, "%s", err)
	}
	return root, nil
}

type jsonBuilder struct {
	skipped int
	lines   lineCounter
}

func (b *jsonBuilder) node(v *hujson.Value) *node {
	n := &node{start: v.StartOffset + b.skipped, end: v.EndOffset + b.skipped, flow: true}
	n.line = b.lines.at(n.start)
	switch v := v.Value.(type) {
	case *hujson.Object:
		n.kind = isMap
		for i := range v.Members {
			name := &v.Members[i].Name
			m := member{keyStart: name.StartOffset + b.skipped, nameEnd: name.EndOffset + b.skipped}
			m.key, m.nameStart, m.line = name.Value.(hujson.Literal).String(), m.keyStart, b.lines.at(m.keyStart)
			if raw := name.Value.(hujson.Literal); lossy(raw, m.key) {
				m.doubt = m.fault(halfPair, "remove it")
			}
			m.value = b.node(&v.Members[i].Value)
			n.members = append(n.members, m)
		}
	case *hujson.Array:
		n.kind = isList
		for i := range v.Elements {
			n.items = append(n.items, b.node(&v.Elements[i]))
		}
	case hujson.Literal:
		if n.kind, n.text = jsonScalar(v); n.kind == isText && lossy(v, n.text) {
			n.doubt = &fault{line: n.line, offset: n.start, reason: halfPair, fix: "remove it", ambiguous: true}
		}
	}
	return n
}

const halfPair = "a \\u escape is half of a pair of surrogates, and clients differ in what they make of it"

func jsonScalar(l hujson.Literal) (kind, string) {
	switch l.Kind() {
	case '"':
		var s string
		_ = json.Unmarshal(l, &s) // hujson has seen that it is valid
		return isText, s
	case 't', 'f':
		return isBool, string(l)
	case 'n':
		return isNull, ""
	}
	return isScalar, string(l)
}

// tooDeep returns the offset of a bracket that is nested too deeply, or -1. It does not
// count brackets in strings and comments.
func tooDeep(src []byte) int {
	depth := 0
	for i := 0; i < len(src); {
		switch src[i] {
		case '[', '{':
			if depth++; depth > maxDepth {
				return i
			}
		case ']', '}':
			depth--
		case '"':
			i = endOfString(src, i)
			continue
		case '/':
			i = max(endOfComment(src, i), i+1)
			continue
		}
		i++
	}
	return -1
}

func endOfString(src []byte, i int) int {
	for i++; i < len(src); i++ {
		switch src[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(src)
}

// endOfComment returns the offset after the comment of JSON that begins at i, or i if none
// does. The line end after a comment does not belong to it.
func endOfComment(src []byte, i int) int {
	rest, until := src[i:], "\n"
	switch {
	case bytes.HasPrefix(rest, []byte("/*")):
		until = "*/"
	case !bytes.HasPrefix(rest, []byte("//")):
		return i
	}
	end := bytes.Index(rest[2:], []byte(until))
	switch {
	case end < 0:
		return len(src)
	case until == "\n":
		return i + 2 + end
	}
	return i + 2 + end + len(until)
}
