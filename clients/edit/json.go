package edit

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// parseJSON reads JSON with comments and trailing commas.
func (f *File) parseJSON() error {
	p := jsonParser{f: f, at: f.skipped(), line: 1}
	p.value(&f.root, f.tables, !f.isLarge() || slices.ContainsFunc(f.tables, func(p []string) bool { return len(p) == 0 }), 1)
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
		case c == '\n':
			p.at, p.line = end, p.line+1
			continue
		case c == '\r':
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

// value reads a value into n, which may be nil. keep are the paths below it that are looked at, and whole says
// that all of it is.
func (p *jsonParser) value(n *node, keep [][]string, whole bool, depth int) {
	c, look, cuts := p.next(), n != nil && (whole || keep != nil), len(p.f.cuts)
	begin, line, kind := p.at, p.line, isText
	switch {
	case depth > maxDepth:
		p.fail("it is nested more than %d levels deep", maxDepth)
	case c == '{' || c == '[':
		p.at++
		for begun := false; p.more(c+2, begun); begun = true { // the closing one of ASCII
			p.child(n, c == '{', look, keep, whole, depth)
		}
		if kind = isList; c == '{' {
			kind = isMap
		}
	case c == '"' && look:
		p.text(n)
	case c == '"':
		p.text(nil)
	default:
		kind = p.scalar(n)
	}
	if n == nil || p.err != nil {
		return
	}
	const long = 64
	switch n.kind, n.line, n.start, n.end, n.flow = kind, line, begin, p.at, true; {
	case look && kind == isMap:
		n.findTwice()
	case !look && n.end-n.start >= long:
		p.f.cuts = append(p.f.cuts[:cuts], [2]int{n.start, n.end})
	}
	if p.kept++; p.kept > MaxSize/2 { // there are at most as many in MaxSize bytes
		p.fail("its tables of servers and short values are too many, and mcp-jail edits at most %d bytes", p.f.most)
	}
}

// child reads a member or an element of n.
func (p *jsonParser) child(n *node, isMember, look bool, keep [][]string, whole bool, depth int) {
	var key, value *node
	switch {
	case look && isMember:
		n.members = append(n.members, member{start: p.at, key: node{kind: isText, line: p.line, start: p.at}})
		m := &n.members[len(n.members)-1]
		key, value = &m.key, &m.value
	case look:
		n.items = append(n.items, node{})
		value = &n.items[len(n.items)-1]
	}
	var paths [][]string
	if isMember {
		if p.text(key); p.next() != ':' {
			p.fail("a colon is missing after a key")
			return
		}
		if p.at++; look {
			ends := false
			paths, ends = below(key.text, keep)
			whole = whole || ends
		}
	}
	p.value(value, paths, whole, depth+1)
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

// more goes to the next value between brackets, and reports whether there is one.
func (p *jsonParser) more(closing byte, begun bool) bool {
	c := p.next()
	if begun && c == ',' {
		p.at++
		c = p.next()
	} else if begun && c != closing {
		p.fail("a comma or %q is missing after a value", closing)
	}
	if c == closing {
		p.at++
		return false
	}
	return p.err == nil
}

// text reads a string into n, which may be nil.
func (p *jsonParser) text(n *node) {
	src, begin := p.f.src, p.at
	if begin >= len(src) || src[begin] != '"' {
		p.fail("a key is missing")
		return
	}
	escaped := false
	for p.at++; p.at < len(src) && src[p.at] != '"'; p.at++ {
		switch c := src[p.at]; {
		case c < ' ':
			p.fail("a control character is in a string")
		case c == '\\':
			escaped = true
			if p.at++; p.at < len(src) && strings.IndexByte(`"\/bfnrtu`, src[p.at]) < 0 || p.at < len(src) && src[p.at] == 'u' && (p.at+5 > len(src) || !isHex(src[p.at+1:p.at+5])) {
				p.fail("a backslash begins no escape")
			}
		}
	}
	if p.at >= len(src) {
		p.fail("a string is not closed")
		return
	}
	p.at++
	if n == nil {
		return
	}
	raw := src[begin:p.at]
	if n.end, n.text = p.at, string(raw[1:len(raw)-1]); escaped {
		var text string
		_ = json.Unmarshal(raw, &text)
		if n.text = text; lossy(raw, text) {
			n.doubt = &Fault{offset: begin, Reason: "a \\u escape is half of a pair of surrogates, and clients differ in what they make of it", Fix: "remove it"}
		}
	}
}

func isHex(digits []byte) bool {
	_, err := strconv.ParseUint(string(digits), 16, 16)
	return err == nil
}

// lossy reports whether a string of JSON has half of a pair of surrogates, which is no text:
// parsers keep it, replace it, or refuse the file.
func lossy(raw []byte, decoded string) bool {
	return strings.Count(decoded, "\ufffd") > bytes.Count(raw, []byte("\ufffd"))+bytes.Count(bytes.ToLower(raw), []byte(`\ufffd`))
}

// scalar reads a number, boolean or null into n, which may be nil.
func (p *jsonParser) scalar(n *node) kind {
	begin, kind := p.at, isScalar
	for p.at < len(p.f.src) && strings.IndexByte(" \t\r\n,]}/:\"[{", p.f.src[p.at]) < 0 {
		p.at++
	}
	text := p.f.src[begin:p.at]
	switch string(text) {
	case "true", "false":
		kind = isBool
	case "null":
		kind = isNull
	default:
		if !json.Valid(text) {
			p.fail("%.20q is not a value", text)
		}
	}
	if n != nil {
		n.text = string(text)
	}
	return kind
}
