package config

import "github.com/mcp-jail/mcp-jail/internal/toml"

// A Shape is what the decoder accepts at one place of a file. It is for code that describes
// the format, such as a schema for editors. [Decode] checks more, for example that two keys do
// not contradict each other.
type Shape struct {
	Type     string            // "object", "array", "string", "integer" or "boolean"; "" with Any
	Keys     map[string]*Shape // of a table with known keys; nil if the user chooses them
	Required []string          // those of Keys that must be there
	Names    *Shape            // of a table with keys that the user chooses: the shape of each value
	Like     string            // a regular expression for such keys, or for a string; "" for any
	Items    *Shape            // of an array
	NotEmpty bool              // of an array or a string
	Words    []string          // the strings that are accepted; nil for any
	Low      int64             // of an integer, and High
	High     int64
	Any      []*Shape // the alternatives, where there are several
}

// Describe returns the shape of a whole file. It has the decoder read a node of unknown
// content: the functions that check a value note there what they would accept.
func Describe() *Shape {
	d := &decoder{shapes: map[*node]*Shape{}}
	return d.describe(func(root *node) { d.whole(root, &Config{}) })
}

// jsonType returns the name of a kind in JSON.
func jsonType(k toml.Kind) string {
	return map[toml.Kind]string{toml.Table: "object", toml.Array: "array", toml.String: "string", toml.Integer: "integer", toml.Bool: "boolean"}[k]
}

// describe returns the shape of the value that read reads.
func (d *decoder) describe(read func(n *node)) *Shape {
	n, shape := &node{}, &Shape{}
	d.shapes[n] = shape
	read(n)
	return shape
}

// either reads a value that may have several shapes, one for each reader, with readers[own]. In
// a description it notes the shapes of all readers.
func (d *decoder) either(n *node, own int, readers ...func(n *node)) {
	if d.shapes[n] == nil {
		readers[own](n)
		return
	}
	for _, read := range readers {
		d.shapes[n].Any = append(d.shapes[n].Any, d.describe(read))
	}
}

// oneOrMany reads a value, or an array of such values in its place.
func (d *decoder) oneOrMany(n *node, key string, read func(n *node)) {
	own := 0
	if n.Kind == toml.Array {
		own = 1
	}
	d.either(n, own, read, func(n *node) { d.items(n, key, read) })
}

// notEmpty reports an array without items.
func (d *decoder) notEmpty(n *node, key, format string, args ...any) {
	switch {
	case d.shapes[n] != nil:
		for _, s := range append(d.shapes[n].Any, d.shapes[n]) {
			s.NotEmpty = s.NotEmpty || s.Type == jsonType(toml.Array)
		}
	case n.Kind == toml.Array && len(n.Items) == 0:
		d.add(n, key, format, args...)
	}
}

// A form is what a text must look like. Its pattern is for schemas, which have nothing but
// regular expressions: it accepts all that the decoder accepts, and more.
type form struct {
	pattern string
	check   func(text string) error
}

// like reads a string of a form.
func (d *decoder) like(n *node, key string, f form) string {
	text := d.text(n, key)
	d.looksLike(n, f.pattern)
	if n.Kind == toml.String {
		d.check(n, key, f.check(text))
	}
	return text
}

// looksLike notes the pattern of a string, for a schema. It checks nothing.
func (d *decoder) looksLike(n *node, pattern string) {
	if d.shapes[n] != nil {
		d.shapes[n].Like = pattern
	}
}
