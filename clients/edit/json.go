package edit

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// parseJSON reads JSON with comments and trailing commas.
func (f *File) parseJSON() error {
	p := jsonParser{f: f, at: f.skipped(), line: 1}
	p.value(&f.root, 1)
	if p.next(); p.err == nil && p.at < len(f.src) {
		p.fail("there is more than one value")
	}
	return p.err
}

type jsonParser struct {
	f                *File
	at, line, values int
	err              error // the first; at is then the end
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

// value reads a value into n.
func (p *jsonParser) value(n *node, depth int) {
	c := p.next()
	n.kind, n.line, n.start, n.flow = isText, p.line, p.at, true
	switch p.values++; {
	case depth > maxDepth:
		p.fail("it is nested more than %d levels deep", maxDepth)
	case p.values > maxValues:
		p.fail("it has more than %d values", maxValues)
	case c == '{' || c == '[':
		if n.kind = isList; c == '{' {
			n.kind = isMap
		}
		p.at++
		for begun := false; p.more(c+2, begun); begun = true { // the closing one of ASCII
			p.child(n, depth)
		}
		n.findTwice()
	case c == '"':
		p.text(n)
	default:
		p.scalar(n)
	}
	n.end = p.at
}

// child reads a member or an element of n.
func (p *jsonParser) child(n *node, depth int) {
	if n.kind == isList {
		n.items = append(n.items, node{})
		p.value(&n.items[len(n.items)-1], depth+1)
		return
	}
	n.members = append(n.members, member{start: p.at, key: node{kind: isText, line: p.line, start: p.at}})
	m := &n.members[len(n.members)-1]
	if p.text(&m.key); p.next() != ':' {
		p.fail("a colon is missing after a key")
		return
	}
	p.at++
	p.value(&m.value, depth+1)
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

// text reads a string into n.
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

// scalar reads a number, boolean or null into n.
func (p *jsonParser) scalar(n *node) {
	begin := p.at
	for p.at < len(p.f.src) && strings.IndexByte(" \t\r\n,]}/:\"[{", p.f.src[p.at]) < 0 {
		p.at++
	}
	text := p.f.src[begin:p.at]
	switch n.kind, n.text = isScalar, string(text); n.text {
	case "true", "false":
		n.kind = isBool
	case "null":
		n.kind = isNull
	default:
		if !json.Valid(text) {
			p.fail("%.20q is not a value", text)
		}
	}
}
