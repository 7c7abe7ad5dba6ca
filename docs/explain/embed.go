// Package explain has the pages about failures: for each kind of failure what a user sees,
// what it means, what to do, and when not to do it. `mcp-jail help NAME` prints one, and
// every diagnosis names one (diagnostics.Page).
//
// A page is NAME.md in this directory. Its first line is "# NAME: a title". Its first block
// of text is an example, which the scripts in cmd/mcp-jail/testdata/explain make. The name
// of a page never changes, because records and messages have it. A page has at most 60 lines.
//
// Text understands the Markdown that these pages use: one level of headings, paragraphs,
// lists of one level, blocks of code, links. It understands no tables and no quotes.
package explain

import (
	"embed"
	"path"
	"slices"
	"strings"
)

//go:embed *.md
var files embed.FS

// page is a page of this directory.
type page struct {
	Name  string
	Title string // one line
	body  string // Markdown, without the title
}

// Names returns the names of all pages, sorted.
func Names() (names []string) {
	all, err := files.ReadDir(".")
	if err != nil {
		return nil // never: an embedded directory can be read
	}
	for _, f := range all {
		names = append(names, strings.TrimSuffix(f.Name(), path.Ext(f.Name())))
	}
	slices.Sort(names)
	return names
}

// Find returns the page with a name.
func Find(name string) (p page, ok bool) {
	text, err := files.ReadFile(name + ".md")
	if err != nil {
		return p, false
	}
	head, body, _ := strings.Cut(string(text), "\n")
	return page{name, strings.TrimPrefix(head, "# "+name+": "), body}, true
}
