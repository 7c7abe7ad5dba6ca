package edit

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/mcp-jail/mcp-jail/internal/lazy"
)

// An AmbiguousError reports a place of a file that clients read in different ways: what mcp-jail
// finds there may not be what a client starts.
type AmbiguousError struct {
	Line, Column int // Column counts characters, from 1
	Reason, Fix  string
}

func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("line %d, column %d: %s; %s", e.Line, e.Column, e.Reason, e.Fix)
}

func (f *File) ambiguous(offset int, fix, format string, args ...any) *AmbiguousError {
	line, column := f.position(offset)
	return &AmbiguousError{line, column, fmt.Sprintf(format, args...), fix}
}

func (f *File) position(offset int) (line, column int) {
	line, text := f.line(offset), f.src
	if f.cuts != nil {
		offset, text = f.inWhole(offset), f.whole
	}
	begin := 1 + bytes.LastIndexByte(text[:offset], '\n')
	return line, 1 + utf8.RuneCount(text[begin:offset])
}

// checkText finds characters on which the parsers of clients differ.
//
// A carriage return without a line feed, U+2028 and U+2029 end a comment in Visual Studio Code
// (src/vs/base/common/json.ts), in esprima and in JSON5; the first does in npm's jsonc-parser
// too; none does in the parsers of Go, Rust and Python. YAML 1.1 has U+0085, U+2028 and U+2029 as
// line ends (section 4.2), YAML 1.2 has not (section 5.4). A byte order mark is a blank for some.
func (f *File) checkText() *AmbiguousError {
	src, comment := f.src, 0 // the end of the last comment of JSON
	for i := f.skipped(); i < len(src); {
		// Most characters are none of those, and begin neither a string nor a comment.
		if c := src[i]; c >= ' ' && c < 0x7f && c != '"' && c != '/' || c == '\n' || c == '\t' {
			i++
			continue
		}
		if f.format == JSON && i >= comment {
			if src[i] == '"' {
				i = endOfString(src, i)
				continue
			}
			comment = endOfComment(src, i)
		}
		r, size := utf8.DecodeRune(src[i:])
		switch {
		case r == '\r' && !bytes.HasPrefix(src[i:], []byte("\r\n")):
			return f.ambiguous(i, "end lines with LF or CR LF", "a carriage return (CR) stands alone, and ends a line for some clients only")
		case f.format == TOML: // all versions of it name the same characters
		case strings.ContainsRune("\v\f\u0085\u2028\u2029", r):
			return f.ambiguous(i, "remove it", "U+%04X ends a line for some clients only", r)
		case r == '\ufeff' || r < ' ' && r != '\t' && r != '\n' && r != '\r':
			return f.ambiguous(i, "remove it", "U+%04X is a blank for some clients only", r)
		}
		i += size
	}
	if f.format != YAML {
		return nil
	}
	if at := bytes.Index(append([]byte{'\n'}, f.text()...), []byte("\n%")); at >= 0 {
		return f.ambiguous(f.skipped()+at, "remove it", "a directive can choose another version of YAML")
	}
	return nil
}

// Ambiguity returns an [*AmbiguousError] if clients find different values at the path of
// a table, or nil.
func (f *File) Ambiguity(t Table) error {
	if f.root == nil {
		return nil
	}
	var found *AmbiguousError
	var walk func(n *node, todo []string)
	walk = func(n *node, todo []string) {
		if found != nil {
			return
		}
		if d := n.ownDoubt(todo[:min(1, len(todo))]...); d != nil {
			found = f.ambiguous(max(d.offset, 0), d.fix, "%s", d.reason)
			return
		}
		if len(todo) == 0 {
			return
		}
		for i := range n.members {
			if todo[0] == "*" || n.members[i].key == todo[0] {
				walk(n.members[i].value, todo[1:])
			}
		}
	}
	walk(f.root, t.Path)
	if found == nil {
		return nil
	}
	return found
}

// OutsideValues returns an [*AmbiguousError] for the first text that begins with one of opens, ends
// with end, and is not within the text of one value of a JSON file. why says what a client does.
func (f *File) OutsideValues(opens []string, end, why string) error {
	inside := make([]int, len(f.src)+1) // where the value ends that a byte belongs to
	var walk func(n *node)
	walk = func(n *node) {
		if n == nil {
			return
		}
		if n.kind == isText && n.end > n.start {
			for i := n.start; i < n.end; i++ {
				inside[i] = n.end
			}
		}
		for _, item := range n.items {
			walk(item)
		}
		for i := range n.members {
			walk(n.members[i].value)
		}
	}
	walk(f.root)
	// A text is within a value if it ends before the value of its first byte does.
	for _, open := range opens {
		for from := 0; ; {
			at := bytes.Index(f.src[from:], []byte(open))
			if at < 0 {
				break
			}
			at += from
			from = at + 1
			if length := bytes.Index(f.src[at:], []byte(end)); length >= 0 && at+length+len(end) > inside[at] {
				return f.ambiguous(at, "remove it", "%q stands outside of a value: %s", open+"…"+end, why)
			}
		}
	}
	return nil
}

// Named returns an [*AmbiguousError] for the first name between open and end, anywhere in the text of
// the file, about which doubt has something to say.
func (f *File) Named(open, end string, doubt func(name string) string) error {
	for from := 0; ; {
		at := bytes.Index(f.src[from:], []byte(open))
		if at < 0 {
			return nil
		}
		at += from
		from = at + len(open)
		length := bytes.Index(f.src[from:], []byte(end))
		if length < 0 {
			return nil
		}
		if why := doubt(string(f.src[from : from+length])); why != "" {
			return f.ambiguous(at, "remove it", "%q stands here: %s", open+"…"+end, why)
		}
	}
}

// ownDoubt returns why clients may differ about which members a value has, or nil. known are
// keys that clients look for.
func (n *node) ownDoubt(known ...string) *fault {
	if n.doubt != nil {
		return n.doubt
	}
	if n.merge != 0 {
		return n.mergeFault()
	}
	for i := range n.members {
		m := &n.members[i]
		// encoding/json, for one, finds keys in any case of their letters.
		at := slices.IndexFunc(known, func(k string) bool { return k != "*" && k != m.key && strings.EqualFold(k, m.key) })
		switch {
		case m.doubt != nil:
			return m.doubt
		case ofPrototype[m.key]:
			return m.fault("the key "+strconv.Quote(m.key)+" is special in JavaScript: what stands there can count as members of the table around it", "remove it")
		case at >= 0:
			return m.fault("a client that ignores the case of letters reads the key "+strconv.Quote(m.key)+" as "+known[at], "write "+known[at]+", or remove it")
		}
	}
	return nil
}

// ofPrototype has the keys that each object of JavaScript has.
var ofPrototype = map[string]bool{
	"__proto__": true, "__defineGetter__": true, "__defineSetter__": true, "__lookupGetter__": true, "__lookupSetter__": true,
	"constructor": true, "prototype": true, "hasOwnProperty": true, "isPrototypeOf": true, "propertyIsEnumerable": true,
	"toLocaleString": true, "toString": true, "valueOf": true,
}

func (n *node) doubts(known ...string) *fault {
	if d := n.ownDoubt(known...); d != nil {
		return d
	}
	duplicates := n.indexed().duplicates
	for i := range n.members {
		if d := firstFault(duplicates[n.members[i].key], n.members[i].unsure, n.members[i].value.doubts()); d != nil {
			return d
		}
	}
	for _, item := range n.items {
		if d := item.doubts(); d != nil {
			return d
		}
	}
	return nil
}

func (m *member) fault(reason, fix string) *fault {
	return &fault{line: m.line, offset: m.keyStart, reason: reason, fix: fix, ambiguous: true}
}

// lossy reports whether a string of JSON has half of a pair of surrogates, which is no text:
// parsers keep it, replace it, or refuse the file.
func lossy(raw []byte, decoded string) bool {
	return strings.Count(decoded, "\ufffd") > bytes.Count(raw, []byte("\ufffd"))+bytes.Count(bytes.ToLower(raw), []byte(`\ufffd`))
}

// yamlOtherwise matches the plain scalars that are no text in YAML 1.1 or 1.2, or in both with
// other values, except for whole numbers.
var yamlOtherwise = lazy.Regexp(`^(?i:y|n|yes|no|on|off|true|false|null|~|=|<<|[-+]?\.(?:inf|nan)` +
	`|[-+]?0b[01_]+|[-+]?0o?[0-7_]+|[-+]?0x[0-9a-f_]+|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?` +
	`|[-+]?(?:[0-9][0-9_]*)?\.?[0-9_]*(?:e[-+]?[0-9]+)?|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[t \t].*)?)$`)

var wholeNumber = lazy.Regexp(`^(?:0|-?[1-9][0-9]{0,14})$`)

func yamlDoubt(y *yaml.Node) string {
	switch {
	case y.Style&yaml.TaggedStyle != 0:
		return "it has a tag, and clients differ in which they know"
	case y.Kind == yaml.ScalarNode && y.Style == 0 && strings.HasSuffix(y.Value, ":"):
		return strconv.Quote(y.Value) + " without quotes is a word for some clients, and a table for others"
	case y.Kind == yaml.ScalarNode && y.Style == 0 && yamlOtherwise().MatchString(y.Value) && !wholeNumber().MatchString(y.Value):
		return strconv.Quote(y.Value) + " without quotes is one value in YAML 1.1 and another in 1.2"
	}
	return ""
}
