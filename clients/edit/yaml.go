package edit

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/mcp-jail/mcp-jail/internal/lazy"
)

// maxKeys bounds the keys of a mapping of YAML: the library's decoder compares each of them
// with each other one.
const maxKeys = 2000

// parseYAML builds the tree of a YAML file from the positions of its parser, which are
// beginnings; ends are found in the text. decodeYAML comes before the tree: it refuses
// aliases that contain themselves, and those that would fill the memory.
func (f *File) parseYAML() (*node, error) {
	d := yaml.NewDecoder(bytes.NewReader(f.text()))
	var doc, next yaml.Node
	switch err := d.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, nil // comments only
	case err != nil:
		return nil, f.syntax(lineOf(err), "%s", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if wide := tooWide(&doc); wide != nil {
		return nil, f.syntax(wide.Line, "a mapping has more than %d keys", maxKeys)
	}
	if _, err := decodeYAML(f.src); err != nil {
		return nil, f.syntax(lineOf(err), "%s", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	// Clients differ in which of several documents they read.
	if err := d.Decode(&next); !errors.Is(err, io.EOF) {
		return nil, f.syntax(next.Line, "a second document begins here, and mcp-jail edits files with one")
	}
	b := &yamlBuilder{src: f.src, at: yamlCursor{src: f.src, offset: f.skipped(), line: 1, column: 1}, anchors: map[*yaml.Node]*node{}, named: map[string]int{}}
	return b.node(doc.Content[0]), nil
}

func tooWide(y *yaml.Node) *yaml.Node {
	if y.Kind == yaml.MappingNode && len(y.Content) > 2*maxKeys {
		return y
	}
	for _, inner := range y.Content {
		if wide := tooWide(inner); wide != nil {
			return wide
		}
	}
	return nil
}

type yamlBuilder struct {
	src     []byte
	at      yamlCursor
	anchors map[*yaml.Node]*node
	named   map[string]int // how many anchors have a name
}

func (b *yamlBuilder) node(y *yaml.Node) *node {
	n := &node{line: y.Line, start: b.at.offsetOf(y.Line, y.Column), end: -1, flow: y.Style&yaml.FlowStyle != 0}
	if y.Anchor != "" {
		b.anchors[y] = n
		b.named[y.Anchor]++
	}
	if y.Style&yaml.TaggedStyle != 0 && y.Kind != yaml.ScalarNode {
		n.doubt = &fault{line: y.Line, offset: n.start, reason: "a table or list has a tag, and clients differ in which they know", fix: "remove the tag", ambiguous: true}
	}
	if n.start >= 0 && (y.Anchor != "" || y.Kind == yaml.AliasNode) && !anchorEnd().Match(b.src[n.start:]) {
		n.doubt = &fault{line: y.Line, offset: n.start, reason: "the name of an anchor ends earlier for some clients", fix: "write a blank after it", ambiguous: true}
	}
	switch y.Kind {
	case yaml.AliasNode:
		return b.alias(n, y)
	case yaml.ScalarNode:
		n.kind, n.text = yamlScalar(y)
		n.plain = y.Style == 0
		if why := yamlDoubt(y); why != "" {
			n.unsure = &fault{line: y.Line, offset: n.start, reason: why, fix: "write it between quotes", ambiguous: true}
		}
		// The position of a node with an anchor or a tag is that of the anchor or tag.
		if y.Anchor == "" && y.Style&yaml.TaggedStyle == 0 {
			n.end = scalarEnd(b.src, n.start, y)
		}
	case yaml.SequenceNode:
		n.kind = isList
		for _, item := range y.Content {
			n.items = append(n.items, b.node(item))
		}
	case yaml.MappingNode:
		n.kind = isMap
		for i := 0; i+1 < len(y.Content); i += 2 {
			b.member(n, y.Content[i], y.Content[i+1])
		}
	}
	return n
}

// anchorEnd matches an anchor or alias whose name is the same in YAML 1.1 (section 3.1.2), which has
// letters and digits, and in YAML 1.2 (section 6.9.2), which has all but blanks and brackets.
var anchorEnd = lazy.Regexp(`^[&*][0-9A-Za-z_-]+(?:[ \t\r\n,\]}]|$)`)

func (b *yamlBuilder) member(n *node, key, value *yaml.Node) {
	k := b.node(key)
	v := b.node(value)
	if key.Kind == yaml.ScalarNode && key.ShortTag() == "!!merge" {
		n.merge, n.mergeAt = key.Line, k.start
		return
	}
	m := member{key: key.Value, line: k.line, keyStart: k.start, nameStart: k.start, nameEnd: k.end, lines: !n.flow, value: v, doubt: k.doubt}
	if why := yamlDoubt(key); why != "" {
		m.unsure = m.fault("of a key: "+why, "write it between quotes")
		if key.Style&yaml.TaggedStyle != 0 {
			m.doubt = m.unsure
		}
	}
	n.members = append(n.members, m)
}

func (b *yamlBuilder) alias(n *node, y *yaml.Node) *node {
	target := b.anchors[y.Alias]
	if target.fault == nil {
		target.fault = &fault{line: target.line, reason: "it has the anchor &" + y.Value + ", and line " + strconv.Itoa(y.Line) + " uses it", fix: "write the value out in both places"}
	}
	if b.named[y.Value] > 1 {
		n.doubt = &fault{line: y.Line, offset: n.start, reason: "the anchor &" + y.Value + " stands twice, and clients differ in which of the two they use", fix: "write the value out", ambiguous: true}
	}
	n.kind, n.text, n.items, n.members, n.merge = target.kind, target.text, target.items, target.members, target.merge
	n.fault = &fault{line: y.Line, reason: "*" + y.Value + " stands there for a value of line " + strconv.Itoa(target.line), fix: "write the value out"}
	return n
}

func yamlScalar(y *yaml.Node) (kind, string) {
	switch y.ShortTag() {
	case "!!null":
		return isNull, ""
	case "!!bool":
		return isBool, strings.ToLower(y.Value)
	case "!!int", "!!float", "!!timestamp":
		return isScalar, y.Value
	}
	return isText, y.Value
}

func scalarEnd(src []byte, start int, y *yaml.Node) int {
	if start < 0 || start >= len(src) {
		return -1
	}
	rest := src[start:]
	if end := bytes.IndexAny(rest, "\r\n\u0085\u2028\u2029"); end >= 0 {
		rest = rest[:end]
	}
	switch {
	case y.Style&yaml.DoubleQuotedStyle != 0 && rest[0] == '"':
		if end := endOfString(rest, 0); end <= len(rest) && end > 1 && rest[end-1] == '"' {
			return start + end
		}
	case y.Style&yaml.SingleQuotedStyle != 0 && rest[0] == '\'':
		for i := 1; i < len(rest); i++ {
			if rest[i] != '\'' {
				continue
			}
			if i+1 == len(rest) || rest[i+1] != '\'' {
				return start + i + 1
			}
			i++
		}
	case y.Style == 0 && bytes.HasPrefix(rest, []byte(y.Value)):
		// A plain scalar that is folded over lines does not match.
		return start + len(y.Value)
	}
	return -1
}

// A yamlCursor turns lines and columns, which grow, into offsets. Columns count
// characters, and YAML knows more line ends than other formats.
type yamlCursor struct {
	src                  []byte
	offset, line, column int
}

// offsetOf returns the offset of a position, or -1 if the file has no such position.
func (c *yamlCursor) offsetOf(line, column int) int {
	for c.line < line || c.line == line && c.column < column {
		if c.offset >= len(c.src) {
			return -1
		}
		r, size := utf8.DecodeRune(c.src[c.offset:])
		c.offset += size
		c.column++
		switch r {
		case '\r':
			if c.offset < len(c.src) && c.src[c.offset] == '\n' {
				c.offset++
			}
			fallthrough
		case '\n', '\u0085', '\u2028', '\u2029':
			c.line, c.column = c.line+1, 1
		}
	}
	if c.line != line || c.column != column {
		return -1
	}
	return c.offset
}
