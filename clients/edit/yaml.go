package edit

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/mcp-jail/mcp-jail/internal/show"
)

// maxKeys bounds the keys of a mapping of YAML: the library's decoder compares each of them
// with each other one.
const maxKeys = 2000

// parseYAML builds the tree of a YAML file from the positions of its parser, which are
// beginnings; ends are found in the text.
func (f *File) parseYAML() error {
	if doubt := f.checkText(f.skipped(), len(f.src)); doubt != nil {
		return doubt
	}
	if at := bytes.Index(append([]byte{'\n'}, f.text()...), []byte("\n%")); at >= 0 {
		return f.placed(&Fault{offset: f.skipped() + at, Reason: "a directive can choose another version of YAML", Fix: "remove it"})
	}
	d := yaml.NewDecoder(bytes.NewReader(f.text()))
	var doc, next yaml.Node
	if err := d.Decode(&doc); errors.Is(err, io.EOF) {
		return nil // comments only
	} else if err != nil {
		return f.syntax(lineOf(err), "%s", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	// Clients differ in which of several documents they read.
	if err := d.Decode(&next); !errors.Is(err, io.EOF) {
		return f.syntax(next.Line, "a second document begins here, and mcp-jail edits files with one")
	}
	b := &yamlBuilder{src: f.src, at: f.skipped(), line: 1, column: 1, aliases: map[string]bool{}}
	b.note(&doc)
	f.root = b.node(doc.Content[0])
	if b.wide > 0 {
		return f.syntax(b.wide, "a mapping has more than %d keys", maxKeys)
	}
	return nil
}

// A yamlBuilder turns lines and columns, which grow, into offsets. Columns count characters.
type yamlBuilder struct {
	src              []byte
	at, line, column int
	wide             int // the line of a mapping with too many keys, or 0
	aliases          map[string]bool
}

// note notes the anchors that something refers to.
func (b *yamlBuilder) note(y *yaml.Node) {
	if y.Kind == yaml.AliasNode {
		b.aliases[y.Value] = true
	}
	for _, n := range y.Content {
		b.note(n)
	}
}

// isUnused reports whether an anchor is one of a block to which nothing refers, and that all parsers read alike.
func (b *yamlBuilder) isUnused(y *yaml.Node) bool {
	return y.Kind == yaml.MappingNode && y.Style&yaml.FlowStyle == 0 && !b.aliases[y.Anchor] && plainAnchor().MatchString(y.Anchor)
}

var plainAnchor = show.Pattern(`^[A-Za-z][A-Za-z0-9_-]*$`)

// offset returns the offset of a node, or -1 if the file has no such position.
func (b *yamlBuilder) offset(y *yaml.Node) int {
	for b.at < len(b.src) && (b.line < y.Line || b.line == y.Line && b.column < y.Column) {
		r, size := utf8.DecodeRune(b.src[b.at:])
		b.at, b.column = b.at+size, b.column+1
		if r == '\n' {
			b.line, b.column = b.line+1, 1
		}
	}
	if b.line != y.Line || b.column != y.Column {
		return -1
	}
	return b.at
}

func (b *yamlBuilder) node(y *yaml.Node) node {
	n := node{kind: isText, line: y.Line, start: b.offset(y), end: -1, text: y.Value, flow: y.Style&yaml.FlowStyle != 0}
	switch {
	case y.Kind == yaml.AliasNode:
		if n.text = y.Alias.Value; y.Alias.Kind != yaml.ScalarNode {
			n.kind = isAlias
		}
		n.doubt = n.fault("*"+y.Value+" is there in place of the value at &"+y.Value, "write the value out")
	case y.Anchor != "" && !b.isUnused(y):
		n.doubt = n.fault("it has the anchor &"+y.Anchor+", and what changes here would change where *"+y.Anchor+" stands", "write the value out in each place")
	case y.Style&yaml.TaggedStyle != 0:
		n.doubt = n.fault("it has a tag, and clients differ in which they know", "remove the tag")
	case y.Kind == yaml.ScalarNode:
		n.end = scalarEnd(b.src, n.start, y)
	}
	switch y.Kind {
	case yaml.ScalarNode:
		n.plain = y.Style == 0
		switch y.ShortTag() {
		case "!!null":
			n.kind, n.text = isNull, ""
		case "!!bool":
			n.kind, n.text = isBool, strings.ToLower(y.Value)
		case "!!int", "!!float", "!!timestamp":
			n.kind = isScalar
		}
	case yaml.SequenceNode:
		n.kind = isList
		for _, item := range y.Content {
			n.items = append(n.items, b.node(item))
		}
	case yaml.MappingNode:
		if n.kind = isMap; len(y.Content) > 2*maxKeys {
			b.wide = y.Line
		}
		for i := 0; i+1 < len(y.Content); i += 2 {
			key := b.node(y.Content[i])
			key.text = y.Content[i].Value
			if y.Content[i].ShortTag() == "!!merge" {
				n.doubt = key.fault("the merge key << adds fields here, and clients differ in whether they read it", "write the fields out")
			}
			n.members = append(n.members, member{start: key.start, key: key, lines: !n.flow, value: b.node(y.Content[i+1])})
		}
		n.findTwice()
	}
	return n
}

// inQuotes matches a scalar of one line.
var inQuotes = show.Pattern(`^(?:"(?:[^"\\\r\n]|\\[^\r\n])*"|'(?:[^'\r\n]|'')*')`)

func scalarEnd(src []byte, start int, y *yaml.Node) int {
	switch {
	case start < 0:
	case y.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0:
		if at := inQuotes().FindIndex(src[start:]); at != nil {
			return start + at[1]
		}
	case y.Style == 0 && bytes.HasPrefix(src[start:], []byte(y.Value)): // one that goes on in another line does not match
		return start + len(y.Value)
	}
	return -1
}
