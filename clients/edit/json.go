package edit

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// parseJSON reads JSON with comments and trailing commas.
func (f *File) parseJSON() error {
	p := jsonParser{f: f, at: f.skipped(), line: 1}
	f.root = p.value(f.tables, !f.isLarge() || slices.ContainsFunc(f.tables, func(p []string) bool { return len(p) == 0 }), 1)
	if p.next(); p.err == nil && p.at < len(f.src) {
		p.fail("there is more than one value")
	}
	for _, cut := range f.cuts {
		p.at -= cut[1] - cut[0]
	}
	if p.err == nil && p.at > f.most {
		p.fail("its tables of servers and short values have %d bytes, and mcp-jail edits at most %d", p.at, f.most)
	}
	return p.err
}

type jsonParser struct {
	f              *File
	at, line, kept int
	err            error // the first; at is then the end
}

func (p *jsonParser) fail(format string, args ...any) { p.stop(p.f.syntax(p.line, format, args...)) }

func (p *jsonParser) stop(err error) {
	if p.at = len(p.f.src); p.err == nil {
		p.err = err
	}
}

// next goes to the next byte that is neither blank nor in a comment, and returns it, or 0 at the end.
func (p *jsonParser) next() byte {
	for p.at < len(p.f.src) {
		c, end := p.f.src[p.at], p.at+1
		switch rest := p.f.src[p.at:]; {
		case c == ' ' || c == '\t':
			p.at++
			continue
		case c == '\n' || c == '\r':
		case c != '/':
			return c
		case bytes.HasPrefix(rest, []byte("//")):
			if end = len(p.f.src); bytes.IndexByte(rest, '\n') >= 0 {
				end = p.at + bytes.IndexByte(rest, '\n')
			}
		case bytes.HasPrefix(rest, []byte("/*")) && bytes.Contains(rest[2:], []byte("*/")):
			end = p.at + bytes.Index(rest[2:], []byte("*/")) + 4
		default:
			return c
		}
		if fault := p.f.checkText(p.at, end); fault != nil {
			p.stop(fault)
			return 0
		}
		p.line += bytes.Count(p.f.src[p.at:end], []byte{'\n'})
		p.at = end
	}
	return 0
}

// value reads a value. keep are the paths below it that are looked at, and whole says that all of it is.
func (p *jsonParser) value(keep [][]string, whole bool, depth int) node {
	c, cuts := p.next(), len(p.f.cuts)
	n := node{line: p.line, start: p.at, flow: true}
	switch look := whole || keep != nil; {
	case depth > maxDepth:
		p.fail("it is nested more than %d levels deep", maxDepth)
	case c == '{':
		n.kind = isMap
		p.list('}', func() {
			m := member{start: p.at, key: node{line: p.line, start: p.at, kind: isText}}
			if p.next() != '"' {
				p.fail("a key is missing")
				return
			}
			p.text(&m.key, look)
			m.key.end = p.at
			if p.next() != ':' {
				p.fail("a colon is missing after a key")
				return
			}
			p.at++
			below, all := below(m.key.text, keep)
			if m.value = p.value(below, whole || all, depth+1); look {
				n.members = append(n.members, m)
			}
		})
		n.findTwice()
	case c == '[':
		n.kind = isList
		p.list(']', func() {
			if item := p.value(nil, whole, depth+1); look {
				n.items = append(n.items, item)
			}
		})
	case c == '"':
		n.kind = isText
		p.text(&n, look)
	default:
		p.scalar(&n)
	}
	const long = 64
	if n.end = p.at; p.err == nil && !whole && keep == nil && n.end-n.start >= long {
		p.f.cuts = append(p.f.cuts[:cuts], [2]int{n.start, n.end})
	} else if p.kept++; p.kept > MaxSize/2 && p.f.isLarge() && whole { // there are at most as many in MaxSize bytes
		p.fail("its tables of servers and short values are too many, and mcp-jail edits at most %d bytes", p.f.most)
	}
	return n
}

// below returns the paths that go on below a key, and whether one ends there.
func below(key string, keep [][]string) (paths [][]string, whole bool) {
	for _, path := range keep {
		if len(path) > 0 && (path[0] == "*" || path[0] == key) {
			paths, whole = append(paths, path[1:]), whole || len(path) == 1
		}
	}
	return paths, whole
}

// list reads what is between brackets.
func (p *jsonParser) list(closing byte, one func()) {
	p.at++
	for c := p.next(); c != closing; c = p.next() {
		one()
		if c = p.next(); c == ',' {
			p.at++
		} else if c != closing {
			p.fail("a comma or %q is missing after a value", closing)
		}
		if p.err != nil {
			return
		}
	}
	p.at++
}

// text reads a string.
func (p *jsonParser) text(n *node, look bool) {
	src, begin := p.f.src, p.at
	for p.at++; p.at < len(src) && src[p.at] != '"'; p.at++ {
		switch c := src[p.at]; {
		case c < ' ':
			p.fail("a control character is in a string")
		case c == '\\':
			p.at++
		}
	}
	if p.at >= len(src) {
		p.fail("a string is not closed")
		return
	}
	p.at++
	switch raw := src[begin:p.at]; {
	case bytes.IndexByte(raw, '\\') < 0:
		if look {
			n.text = string(raw[1 : len(raw)-1])
		}
	case !json.Valid(raw):
		p.fail("a backslash begins no escape")
	case look:
		_ = json.Unmarshal(raw, &n.text)
		if lossy(raw, n.text) {
			n.doubt = n.fault("a \\u escape is half of a pair of surrogates, and clients differ in what they make of it", "remove it")
		}
	}
}

// lossy reports whether a string of JSON has half of a pair of surrogates, which is no text:
// parsers keep it, replace it, or refuse the file.
func lossy(raw []byte, decoded string) bool {
	return strings.Count(decoded, "\ufffd") > bytes.Count(raw, []byte("\ufffd"))+bytes.Count(bytes.ToLower(raw), []byte(`\ufffd`))
}

// scalar reads a number, boolean or null.
func (p *jsonParser) scalar(n *node) {
	for p.at < len(p.f.src) && strings.IndexByte(" \t\r\n,]}/:\"[{", p.f.src[p.at]) < 0 {
		p.at++
	}
	text := p.f.src[n.start:p.at]
	if !json.Valid(text) {
		p.fail("%.20q is not a value", text)
		return
	}
	n.kind, n.text = isScalar, string(text)
	switch text[0] {
	case 't', 'f':
		n.kind = isBool
	case 'n':
		n.kind = isNull
	}
}
