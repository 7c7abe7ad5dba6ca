package edit

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mcp-jail/mcp-jail/internal/show"
)

// checkText finds characters on which the parsers of clients differ, in a part of the file. Of JSON, that is
// a comment or a line end.
//
// A carriage return without a line feed, U+2028 and U+2029 end a comment in Visual Studio Code
// (src/vs/base/common/json.ts), in esprima and in JSON5; the first does in npm's jsonc-parser
// too; none does in the parsers of Go, Rust and Python. YAML 1.1 has U+0085, U+2028 and U+2029 as
// line ends (section 4.2), YAML 1.2 has not (section 5.4). A byte order mark is a blank for some.
func (f *File) checkText(from, to int) error {
	for i := from; i < to; {
		if c := f.src[i]; c >= ' ' && c < 0x7f || c == '\n' || c == '\t' {
			i++
			continue
		}
		r, size := utf8.DecodeRune(f.src[i:])
		switch {
		case r == '\r' && !bytes.HasPrefix(f.src[i:], []byte("\r\n")):
			return f.placed(&Fault{offset: i, Reason: "a carriage return (CR) is alone, and ends a line for some clients only", Fix: "end lines with LF or CR LF"})
		case f.format == TOML: // all versions of it name the same characters
		case strings.ContainsRune("\v\f\u0085\u2028\u2029", r):
			return f.placed(&Fault{offset: i, Reason: fmt.Sprintf("U+%04X ends a line for some clients only", r), Fix: "remove it"})
		case r == '\ufeff' || r < ' ' && r != '\r':
			return f.placed(&Fault{offset: i, Reason: fmt.Sprintf("U+%04X is a blank for some clients only", r), Fix: "remove it"})
		}
		i += size
	}
	return nil
}

// Ambiguity returns a [*Fault] if clients find different values at the path of a table, or nil.
func (f *File) Ambiguity(t Table) error {
	var walk func(n *node, todo []string) *Fault
	walk = func(n *node, todo []string) *Fault {
		if d := f.ownDoubt(n, todo[:min(1, len(todo))]...); d != nil || len(todo) == 0 {
			return d
		}
		for i := range n.members {
			if m := &n.members[i]; todo[0] == "*" || m.key.text == todo[0] {
				if d := walk(&m.value, todo[1:]); d != nil {
					return d
				}
			}
		}
		return nil
	}
	if d := walk(&f.root, t.Path); d != nil {
		return f.placed(d)
	}
	return nil
}

// Marked calls doubt for each text between open and end, with what is between them, and whether they are
// within the text of one value. It returns a [*Fault] for the first about which doubt has something to say.
func (f *File) Marked(open, end string, doubt func(name string, inside bool) string) error {
	var texts []*node // in the order of the file
	var walk func(n *node)
	walk = func(n *node) {
		if n.kind == isText {
			texts = append(texts, n)
		}
		for i := range n.items {
			walk(&n.items[i])
		}
		for i := range n.members {
			walk(&n.members[i].value)
		}
	}
	walk(&f.root)
	for from := 0; ; {
		at := bytes.Index(f.src[from:], []byte(open))
		if at < 0 {
			return nil
		}
		at += from
		from = at + len(open)
		name, _, closed := bytes.Cut(f.src[from:], []byte(end))
		if !closed {
			return nil
		}
		i, _ := slices.BinarySearchFunc(texts, at+1, func(n *node, at int) int { return n.end - at })
		inside := i < len(texts) && texts[i].start <= at && from+len(name)+len(end) <= texts[i].end
		if why := doubt(string(name), inside); why != "" {
			where := map[bool]string{true: "here", false: "outside of a value"}[inside]
			return f.placed(&Fault{offset: at, Reason: fmt.Sprintf("%q stands %s: %s", open+"…"+end, where, why), Fix: "remove it"})
		}
	}
}

// ownDoubt returns why clients may differ about which members a value has, or nil. known are
// keys that clients look for.
func (f *File) ownDoubt(n *node, known ...string) *Fault {
	if n.doubt != nil {
		return n.doubt
	}
	for i := range n.members {
		m := &n.members[i]
		name := m.key.text
		// encoding/json, for one, finds keys in any case of their letters.
		at := slices.IndexFunc(known, func(k string) bool { return k != "*" && k != name && strings.EqualFold(k, name) })
		switch {
		case m.key.doubt != nil:
			return m.key.doubt
		case m.twice != nil && slices.Contains(known, name):
			return m.twice
		case ofPrototype[name]:
			return m.fault("the key "+strconv.Quote(name)+" is special in JavaScript: what is there can count as members of the table around it", "remove it")
		case at >= 0:
			return m.fault("a client that ignores the case of letters reads the key "+strconv.Quote(name)+" as "+known[at], "write "+known[at]+", or remove it")
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

// doubts returns why clients may differ about anything in an entry, or nil.
func (f *File) doubts(n *node, known ...string) *Fault {
	d := f.ownDoubt(n, known...)
	for i := 0; d == nil && i < len(n.members); i++ {
		m := &n.members[i]
		if d = first(m.twice, f.wordDoubt(&m.key)); d == nil {
			d = f.doubts(&m.value)
		}
	}
	for i := 0; d == nil && i < len(n.items); i++ {
		d = f.doubts(&n.items[i])
	}
	return d
}

// yamlOtherwise matches the plain scalars that are no text in YAML 1.1 or 1.2, or in both with
// other values, except for whole numbers.
var yamlOtherwise = show.Pattern(`^(?i:y|n|yes|no|on|off|true|false|null|~|=|<<|[-+]?\.(?:inf|nan)` +
	`|[-+]?0b[01_]+|[-+]?0o?[0-7_]+|[-+]?0x[0-9a-f_]+|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?` +
	`|[-+]?(?:[0-9][0-9_]*)?\.?[0-9_]*(?:e[-+]?[0-9]+)?|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[t \t].*)?)$`)

var wholeNumber = show.Pattern(`^(?:0|-?[1-9][0-9]{0,14})$`)

// wordDoubt returns why clients may read a word or a key in different ways, or nil.
func (f *File) wordDoubt(n *node) *Fault {
	raw := f.src[max(n.start, 0):max(n.start, n.end, 0)]
	switch {
	case n.plain && strings.HasSuffix(n.text, ":"):
		return n.fault(strconv.Quote(n.text)+" without quotes is a word for some clients, and a table for others", "write it between quotes")
	case n.plain && (n.kind == isNull || yamlOtherwise().MatchString(n.text) && !wholeNumber().MatchString(n.text)):
		return n.fault(strconv.Quote(n.text)+" without quotes is one value in YAML 1.1 and another in 1.2", "write it between quotes")
	case f.format == TOML && strings.Contains(n.text, "\r\n") && bytes.Contains(raw, []byte("\r\n")):
		return n.fault("it goes on in another line, and clients differ in how they read its line end", "write it in one line")
	}
	return nil
}
