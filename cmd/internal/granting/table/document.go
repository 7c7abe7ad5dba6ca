package table

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/internal/toml"
)

// maxDepth is the depth of tables and lists in a configuration.
const maxDepth = 16

// A document is the text of a file that is being changed. Each change parses it again.
type document struct {
	text []byte
	root *toml.Node
	all  []toml.Expression
	nl   string // how its lines end
}

// errForm is the error of a form that no line can be put into.
var errForm = errors.New("the file has it in a form that mcp-jail does not change")

func parse(text []byte) (*document, error) {
	d := &document{text: text, nl: "\n"}
	var faults []toml.Fault
	d.root, d.all, faults = toml.Layout(text, maxDepth)
	if len(faults) > 0 {
		return nil, fmt.Errorf("line %d is not TOML: %s", faults[0].Line, faults[0].Text)
	}
	if i := bytes.IndexByte(text, '\n'); i > 0 && text[i-1] == '\r' {
		d.nl = "\r\n"
	}
	return d, nil
}

// change replaces the bytes of some places.
func (d *document) change(all ...splice) error {
	slices.SortStableFunc(all, func(a, b splice) int { return a.start - b.start })
	var out []byte
	at := 0
	for _, s := range all {
		if s.start < at || s.end < s.start {
			return errForm
		}
		out = append(append(out, d.text[at:s.start]...), s.text...)
		at = s.end
	}
	again, err := parse(append(out, d.text[at:]...))
	if err == nil {
		*d = *again
	}
	return err
}

// A splice replaces the bytes from start to end.
type splice struct {
	start, end int
	text       string
}

// list returns the list at a path, which may be the value of { strategy, value }. It is nil if there is
// none.
func (d *document) list(path []string) *toml.Node {
	at, rest := d.root.Find(path)
	if len(rest) > 0 {
		return nil
	}
	if at.Kind == toml.Table && at.Table["value"] != nil {
		at = at.Table["value"]
	}
	return at
}

// header returns the index of the expression that opens a table, or -1.
func (d *document) header(table *toml.Node) int {
	return slices.IndexFunc(d.all, func(e toml.Expression) bool { return e.Header && e.Table == table })
}

// blockEnd returns the index after the last expression of the block of a header.
func (d *document) blockEnd(i int) int {
	for i++; i < len(d.all) && !d.all[i].Header; i++ {
	}
	return i
}

// lineEnd returns where the content of the line of a place ends.
func (d *document) lineEnd(at int) int {
	end := len(d.text)
	if i := bytes.IndexByte(d.text[at:], '\n'); i >= 0 {
		end = at + i
	}
	if end > at && end < len(d.text) && d.text[end-1] == '\r' {
		end--
	}
	return end
}

// lineStart returns where the line of a place begins.
func (d *document) lineStart(at int) int {
	start := bytes.LastIndexByte(d.text[:at], '\n') + 1
	if start == 0 && bytes.HasPrefix(d.text, []byte(byteOrderMark)) {
		return len(byteOrderMark)
	}
	return start
}

const byteOrderMark = "\ufeff"

// before returns where the content of the line before that of a place ends, or -1 in the first line.
func (d *document) before(at int) int {
	start := bytes.LastIndexByte(d.text[:at], '\n')
	if start > 0 && d.text[start-1] == '\r' {
		start--
	}
	return start
}

// indent returns the blanks that a line begins with. alone says that the place follows them.
func (d *document) indent(at int) (indent string, alone bool) {
	start := d.lineStart(at)
	rest := strings.TrimLeft(string(d.text[start:at]), " \t")
	return string(d.text[start : at-len(rest)]), rest == ""
}

// isBlank reports whether the line that ends before a place has no content.
func (d *document) isBlank(end int) bool {
	return len(bytes.TrimSpace(d.text[d.lineStart(end):end])) == 0
}

func spelled(path []string) string {
	parts := make([]string, len(path))
	for i, p := range path {
		parts[i] = show.Key(p)
	}
	return strings.Join(parts, ".")
}
