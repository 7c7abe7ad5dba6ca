package reader

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/internal/toml"
	"github.com/mcp-jail/mcp-jail/policy"
)

// A Reader reads the values of one file, and collects what is wrong with them. Given a node of unknown
// content, its functions note what they would accept: see Describe.
type Reader struct {
	File     string
	Problems policy.Problems
	Shapes   map[*node]*Shape // of nodes without content, for which the Reader notes what it accepts
}

// New returns a Reader of a file, and the root of the file's tree.
func New(data []byte, file string) (*Reader, *node) {
	root, problems := parse(data, file)
	return &Reader{File: file, Problems: problems}, root
}

// Fields are the known keys of a table, each with the function that reads its value.
type Fields map[string]func(n *node, key string)

func (d *Reader) kind(n *node, key string, want toml.Kind) bool {
	switch {
	case d.Shapes[n] != nil:
		d.Shapes[n].Type = jsonType(want)
		return false
	case n.Kind == want:
		return true
	}
	d.Add(n, key, "%s must be %s, not %s", key, want, n.Kind)
	return false
}

// Table reads a table with known keys. An unknown key is an error that suggests the most
// similar known one.
func (d *Reader) Table(n *node, key string, known Fields) {
	if d.Shapes[n] != nil {
		d.Shapes[n].Keys = map[string]*Shape{}
		for name, read := range known {
			// A description reads every known key of a table that is not there.
			d.Shapes[n].Keys[name] = d.Describe(func(n *node) { read(n, ChildKey(key, name)) })
		}
	}
	if !d.kind(n, key, toml.Table) {
		return
	}
	for _, name := range n.Keys {
		if strings.IndexByte(name, 0) >= 0 {
			continue // parse has reported it
		}
		child, full := n.Table[name], ChildKey(key, name)
		if read, ok := known[name]; ok {
			read(child, full)
			continue
		}
		message := "is not a known key"
		if instead := suggestForeign(key, name, child); instead != "" {
			message += "; " + instead
		} else if near := Suggest(name, slices.Sorted(maps.Keys(known))); near != "" {
			message += fmt.Sprintf("; did you mean %s?", near)
		} else {
			message += "; known here: " + strings.Join(slices.Sorted(maps.Keys(known)), ", ")
		}
		d.Add(child, full, "%s %s", full, message)
	}
}

func ChildKey(key, name string) string {
	if key == "" {
		return show.Key(policy.Abbreviate(name))
	}
	return key + "." + show.Key(policy.Abbreviate(name))
}

// Each reads a table whose keys are names that the user chose. The names must be of the form f.
func (d *Reader) Each(n *node, key string, f Form, read func(name string, n *node, key string)) {
	if d.Shapes[n] != nil {
		d.Shapes[n].Like = f.Pattern
		d.Shapes[n].Names = d.Describe(func(n *node) { read("NAME", n, ChildKey(key, "NAME")) })
	}
	if !d.kind(n, key, toml.Table) {
		return
	}
	for _, name := range n.Keys {
		if strings.IndexByte(name, 0) >= 0 {
			continue // parse has reported it
		}
		child, full := n.Table[name], ChildKey(key, name)
		if f.Check != nil {
			if err := f.Check(name); err != nil {
				d.Add(child, full, "%s", err)
			}
		}
		read(name, child, full)
	}
}

func (d *Reader) Text(n *node, key string) string {
	d.kind(n, key, toml.String)
	return n.Text
}

// Word reads a string that must not be empty.
func (d *Reader) Word(n *node, key string) string {
	if d.Shapes[n] != nil {
		d.Shapes[n].NotEmpty = true
	}
	if d.kind(n, key, toml.String) && n.Text == "" {
		d.Add(n, key, "%s is empty", key)
	}
	return n.Text
}

func (d *Reader) Choice(n *node, key string, options ...string) string {
	if d.Shapes[n] != nil {
		d.Shapes[n].Words = options
	}
	if !d.kind(n, key, toml.String) {
		return ""
	}
	for _, o := range options {
		if n.Text == o {
			return o
		}
	}
	d.Add(n, key, `%s must be "%s", not %q`, key, strings.Join(options, `" or "`), policy.Abbreviate(n.Text))
	return ""
}

func (d *Reader) Flag(n *node, key string) bool {
	d.kind(n, key, toml.Bool)
	return n.Bool
}

func (d *Reader) Integer(n *node, key string, low, high int64) int {
	if d.Shapes[n] != nil {
		d.Shapes[n].Low, d.Shapes[n].High = low, high
	}
	if !d.kind(n, key, toml.Integer) {
		return 0
	}
	if n.Int < low || n.Int > high {
		d.Add(n, key, "%s must be between %d and %d, not %d", key, low, high, n.Int)
		return 0
	}
	return int(n.Int)
}

func (d *Reader) Pointer(n *node, key string, low, high int64) *int {
	i := d.Integer(n, key, low, high)
	return &i
}

func (d *Reader) Texts(n *node, key string) []string {
	out := []string{}
	d.Items(n, key, func(n *node) { out = append(out, d.Text(n, key)) })
	return out
}

func (d *Reader) Items(n *node, key string, read func(n *node)) {
	if d.Shapes[n] != nil {
		d.Shapes[n].Items = d.Describe(read)
	}
	if n.Kind == toml.Table && !n.Inline {
		d.Add(n, key, "%s must be an array of tables: write [[%s]]", key, key)
		return
	}
	if d.kind(n, key, toml.Array) {
		for _, item := range n.Items {
			read(item)
		}
	}
}

// A Form is what a text must look like. Its pattern is for schemas, which have nothing but
// regular expressions: it accepts all that the decoder accepts, and more.
type Form struct {
	Pattern string
	Check   func(text string) error
}

// Like reads a string of a form.
func (d *Reader) Like(n *node, key string, f Form) string {
	text := d.Text(n, key)
	d.LooksLike(n, f.Pattern)
	if n.Kind == toml.String {
		d.Check(n, key, f.Check(text))
	}
	return text
}

// LooksLike notes the pattern of a string, for a schema. It checks nothing.
func (d *Reader) LooksLike(n *node, pattern string) {
	if d.Shapes[n] != nil {
		d.Shapes[n].Like = pattern
	}
}

// Check turns the error of a validation into a problem.
func (d *Reader) Check(n *node, key string, err error) {
	if err != nil {
		d.Add(n, key, "%s: %s", key, err)
	}
}

// RequireKey refuses a table without a key. advice is what to write.
func (d *Reader) RequireKey(n *node, key, name, advice string) {
	if d.Shapes[n] != nil {
		d.Shapes[n].Required = append(d.Shapes[n].Required, name)
	}
	if n.Kind == toml.Table && n.Table[name] == nil {
		d.Add(n, ChildKey(key, name), "%s has no %s%s", key, name, advice)
	}
}

// FlagPointer decodes true or false of a key that may be absent.
func (d *Reader) FlagPointer(n *node, key string) *bool {
	b := d.Flag(n, key)
	return &b
}

// Either reads a value that may have several shapes, one for each reader, with readers[own]. In
// a description it notes the shapes of all readers.
func (d *Reader) Either(n *node, own int, readers ...func(n *node)) {
	if d.Shapes[n] == nil {
		readers[own](n)
		return
	}
	for _, read := range readers {
		d.Shapes[n].Any = append(d.Shapes[n].Any, d.Describe(read))
	}
}

// Describe returns the shape of the value that read reads.
func (d *Reader) Describe(read func(n *node)) *Shape {
	n, shape := &node{}, &Shape{}
	d.Shapes[n] = shape
	read(n)
	return shape
}

// OneOrMany reads a value, or an array of such values in its place.
func (d *Reader) OneOrMany(n *node, key string, read func(n *node)) {
	own := 0
	if n.Kind == toml.Array {
		own = 1
	}
	d.Either(n, own, read, func(n *node) { d.Items(n, key, read) })
}

// NotEmpty reports an array without items.
func (d *Reader) NotEmpty(n *node, key, format string, args ...any) {
	switch {
	case d.Shapes[n] != nil:
		for _, s := range append(d.Shapes[n].Any, d.Shapes[n]) {
			s.NotEmpty = s.NotEmpty || s.Type == jsonType(toml.Array)
		}
	case n.Kind == toml.Array && len(n.Items) == 0:
		d.Add(n, key, format, args...)
	}
}

func (d *Reader) Add(n *node, key, format string, args ...any) {
	if len(d.Problems) < 20*policy.MaxProblems {
		d.Problems = append(d.Problems, policy.Problem{File: d.File, Line: n.Line, Key: key, Message: fmt.Sprintf(format, args...)})
	}
}

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

func jsonType(k toml.Kind) string {
	return map[toml.Kind]string{toml.Table: "object", toml.Array: "array", toml.String: "string", toml.Integer: "integer", toml.Bool: "boolean"}[k]
}
