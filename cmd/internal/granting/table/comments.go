package table

import (
	"bytes"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/toml"
)

// dropComments removes the comments in the tables at and below a path which some lines have too: they are
// added with these. A comment right above the header of another table is that table's.
func (d *document) dropComments(path []string, lines []byte) error {
	given := map[string]bool{}
	for line := range bytes.Lines(lines) {
		if isComment(string(line)) {
			given[strings.TrimSpace(string(line))] = true
		}
	}
	var gone []splice
	for i, e := range d.all {
		if !e.Header || shared(e.Key, path) < len(path) {
			continue
		}
		at, end := d.lineEnd(e.End), len(d.text)
		if next := d.blockEnd(i); next < len(d.all) {
			end = d.lineStart(d.all[next].Start)
			for above := d.above(end); above < end && above > at; above = d.above(end) {
				end = above
			}
		}
		for at = min(at+len(d.nl), end); at < end; {
			after := min(d.lineEnd(at)+len(d.nl), end)
			if line := string(d.text[at:after]); isComment(line) && given[strings.TrimSpace(line)] {
				gone = append(gone, splice{at, after, ""})
			}
			at = after
		}
	}
	return d.change(gone...)
}

// above returns the start of the line before the one that starts at a place, if that is a comment. Otherwise it
// returns the place.
func (d *document) above(at int) int {
	if at == 0 {
		return at
	}
	start := d.lineStart(at - 1)
	if !isComment(string(d.text[start:at])) {
		return at
	}
	return start
}

func isComment(line string) bool { return strings.HasPrefix(line, "#") }

// without returns lines without the comments that are right above the header of the table at a path.
func (d *document) without(path, lines []string) []string {
	i := slices.IndexFunc(d.all, func(e toml.Expression) bool { return e.Header && slices.Equal(e.Key, path) })
	if i < 0 {
		return lines
	}
	there := map[string]bool{}
	at := d.lineStart(d.all[i].Start)
	for above := d.above(at); above < at; above = d.above(at) {
		there[strings.TrimSpace(string(d.text[above:at]))] = true
		at = above
	}
	return slices.DeleteFunc(lines, func(line string) bool { return there[strings.TrimSpace(line)] })
}
