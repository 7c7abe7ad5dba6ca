package show

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2/unstable"
)

// maxFaults bounds the faults of one kind in a hostile document, which can be wrong once per byte.
// Each kind has its own bound, so that faults that a caller takes hide none that it refuses.
const maxFaults = 1000

// A document parses one document. Its work is linear in the size of any data.
type document struct {
	data     []byte
	skipped  int // bytes of a byte order mark, which the parser does not get
	depth    int // of nested tables and arrays, and of the parts of a key
	newlines []int
	faults   []Fault
	found    map[faultKind]int // faults of each kind
	line     int
}

// Parse returns the tree of a document, which may begin with a byte order mark, and its faults in
// the order in which they were found. Values may be nested depth deep, and a key may have as many
// parts. Parse never panics.
func Parse(data []byte, depth int) (*Node, []Fault) {
	d := &document{data: data, depth: depth, line: 1, found: map[faultKind]int{}}
	root := newTable(1, place{})
	root.header = true
	if bytes.HasPrefix(data, []byte("\ufeff")) {
		d.skipped = len("\ufeff")
	}
	for i, c := range data {
		if c == '\n' {
			d.newlines = append(d.newlines, i)
		}
	}
	if at := invalidUTF8(data); at >= 0 {
		d.add(Fault{What: NotUTF8, Line: d.lineAt(at), Text: fmt.Sprintf("0x%02x", data[at])})
	} else {
		d.parse(root)
	}
	return root, d.faults
}

func invalidUTF8(data []byte) int {
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}

func (d *document) lineAt(offset int) int { return sort.SearchInts(d.newlines, offset) + 1 }

func (d *document) add(f Fault) {
	if f.Line == 0 {
		f.Line = d.line
	}
	if d.found[f.What]++; d.found[f.What] <= maxFaults {
		d.faults = append(d.faults, f)
	}
}

func (d *document) parse(root *Node) {
	defer func() {
		if r := recover(); r != nil { // the parser is named unstable by its authors
			d.add(Fault{What: Crash, Text: fmt.Sprint(r)})
		}
	}()
	var p unstable.Parser
	p.Reset(slices.Clip(d.data[d.skipped:])) // the parser measures offsets by the capacity
	current, path := root, []string(nil)
	for p.NextExpression() {
		e := p.Expression()
		switch e.Kind {
		case unstable.Table, unstable.ArrayTable:
			parts, places, ok := d.key(e.Key(), nil)
			path = parts
			current = nil // after a bad header its keys have no place
			if ok {
				current = d.open(root, parts, places, e.Kind == unstable.ArrayTable)
			}
		case unstable.KeyValue:
			d.keyValue(current, e, path, 1)
		}
	}
	if err := p.Error(); err != nil {
		f := Fault{What: syntax, Text: err.Error()}
		var pe *unstable.ParserError
		if errors.As(err, &pe) && len(pe.Highlight) > 0 {
			f.Line = d.lineAt(d.skipped + int(p.Range(pe.Highlight).Offset))
		}
		d.add(f)
	}
}

func (d *document) key(it unstable.Iterator, prefix []string) (parts []string, places []place, ok bool) {
	for it.Next() {
		n := it.Node()
		start, end := d.place(n.Raw)
		d.line = d.lineAt(start)
		parts = append(parts, string(n.Data))
		places = append(places, place{d.line, start, start, end})
		if len(prefix)+len(parts) > d.depth {
			d.add(Fault{What: LongKey})
			return parts, nil, false
		}
		if strings.ContainsRune(parts[len(parts)-1], 0) {
			d.add(Fault{What: NULInKey})
		}
	}
	return parts, places, true
}

func (d *document) place(r unstable.Range) (start, end int) {
	return int(r.Offset) + d.skipped, int(r.Offset+r.Length) + d.skipped
}

func (d *document) open(root *Node, parts []string, places []place, array bool) *Node {
	at := root
	for i, part := range parts {
		last := i == len(parts)-1
		next := at.Table[part]
		switch {
		case next == nil:
			next = newTable(d.line, places[i])
			next.header = last && !array
			child := next
			if last && array {
				child = &Node{Kind: Array, Line: d.line, Items: []*Node{next}, Key: places[i], Start: places[i].Start, End: -1, Tables: true}
			}
			at.put(part, child)
		case last && array:
			if next.Kind != Array || !next.Tables {
				d.add(Fault{What: NotTables, Key: parts, At: len(parts), Node: next})
				return nil
			}
			table := newTable(d.line, places[i])
			next.Items = append(next.Items, table)
			next = table
		// [a.b] after [[a]] is in the last element of a.
		case next.Kind == Array && next.Tables && !last:
			next = next.Items[len(next.Items)-1]
		case next.Kind != Table || next.Inline:
			d.add(Fault{What: NotTable, Key: parts, At: i + 1, Node: next})
			return nil
		// A table that [a.b] made on its way may still get its own header, once.
		case last && (next.header || next.dotted):
			d.add(Fault{What: HeaderTwice, Key: parts, At: len(parts), Node: next})
			return nil
		case last:
			next.header = true
			next.Line = d.line
		}
		at = next
	}
	return at
}

// keyValue adds a key, which may be dotted, and its value to a table. The table is nil after a
// bad header. depth is that of the value.
func (d *document) keyValue(at *Node, e *unstable.Node, path []string, depth int) {
	parts, places, ok := d.key(e.Key(), path)
	if !ok || at == nil {
		return
	}
	whole, end := d.place(e.Raw)
	last := places[len(places)-1]
	last.Start = whole
	// The parser has no place for the value: it is what follows the key and its "=".
	start := end - len(bytes.TrimLeft(d.data[last.NameEnd:end], " \t="))
	end = start + len(bytes.TrimRight(d.data[start:end], " \t"))
	full := append(path[:len(path):len(path)], parts...)
	value := d.value(e.Value(), full, start, end, depth)
	value.Key = last

	for i, part := range parts[:len(parts)-1] {
		next := at.Table[part]
		switch {
		case next == nil:
			next = newTable(d.line, places[i])
			next.dotted = true
			at.put(part, next)
		case next.Kind != Table || next.Inline || next.header:
			d.add(Fault{What: NotExtendable, Key: full, At: len(path) + i + 1, Node: next})
			return
		}
		at = next
	}
	name := parts[len(parts)-1]
	if before := at.Table[name]; before != nil {
		d.add(Fault{What: KeyTwice, Key: full, At: len(full), Node: before})
		return
	}
	at.put(name, value)
}

// skip returns the place after blanks, commas, comments and line ends.
func (d *document) skip(at int) int {
	for ; at < len(d.data); at++ {
		switch d.data[at] {
		case ' ', '\t', '\r', '\n', ',':
		case '#':
			if i := bytes.IndexByte(d.data[at:], '\n'); i >= 0 {
				at += i
			}
		default:
			return at
		}
	}
	return at
}

func (d *document) value(n *unstable.Node, path []string, start, end, depth int) *Node {
	// The parser gives no place for an array: the line of what came before it stays.
	if n.Raw.Length > 0 && n.Raw.Offset > 0 {
		d.line = d.lineAt(d.skipped + int(n.Raw.Offset))
	}
	v := &Node{Line: d.line, Start: start, End: end}
	if depth > d.depth {
		d.add(Fault{What: DeepValue, Key: path})
		v.Kind = Array
		return v
	}
	switch n.Kind {
	case unstable.String:
		v.Kind, v.Text = String, string(n.Data)
		if strings.ContainsRune(v.Text, 0) {
			d.add(Fault{What: NULInText, Key: path})
		}
	case unstable.Bool:
		v.Kind, v.Bool = Bool, string(n.Data) == "true"
	case unstable.Integer:
		v.Kind, v.Text = Integer, string(n.Data)
		i, err := strconv.ParseInt(strings.ReplaceAll(v.Text, "_", ""), 0, 64)
		if err != nil {
			d.add(Fault{What: BadNumber, Key: path, Text: v.Text})
		}
		v.Int = i
	case unstable.Float:
		v.Kind, v.Text = float, string(n.Data)
	case unstable.Array:
		v.Kind, v.Inline = Array, true
		at := start + 1
		for it := n.Children(); it.Next(); {
			start, end := d.place(it.Node().Raw)
			if k := it.Node().Kind; k == unstable.Array || k == unstable.InlineTable { // of these the parser tells no end
				start, end = d.skip(at), -1
			}
			item := d.value(it.Node(), path, start, end, depth+1)
			v.Items, at = append(v.Items, item), max(at, item.End)
		}
		v.End = d.skip(at) + 1
	case unstable.InlineTable:
		v.Kind, v.Table = Table, map[string]*Node{}
		at := start + 1
		for it := n.Children(); it.Next(); {
			if it.Node().Kind == unstable.KeyValue {
				d.keyValue(v, it.Node(), path, depth+1)
				_, at = d.place(it.Node().Raw)
			}
		}
		v.End = d.skip(at) + 1
		v.Inline = true // only now, so that its own dotted keys may extend it
	default:
		v.Kind, v.Text = date, string(n.Data)
		if !isDateTime(v.Text) { // the parser takes any digits
			d.add(Fault{What: BadDate, Key: path, Text: v.Text})
		}
	}
	return v
}

// dateTime matches a date, a time or both, as TOML 1.1 has them. The date is checked apart.
var dateTime = Pattern(`^(?:(\d{4}-\d\d-\d\d)(?:[Tt ]` + clock + `(?:[Zz]|[+-]` + hour + `)?)?|` + clock + `)$`)

const (
	hour  = `(?:[01]\d|2[0-3]):[0-5]\d`
	clock = hour + `(?::[0-5]\d(?:\.\d+)?)?`
)

// isDateTime reports whether a text is a date, a time or both.
func isDateTime(s string) bool {
	m := dateTime().FindStringSubmatch(s)
	if m == nil || m[1] == "" {
		return m != nil
	}
	_, err := time.Parse(time.DateOnly, m[1])
	return err == nil
}
