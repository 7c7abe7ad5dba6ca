// Package markdown reads the documents of the checkout for the tests that hold them to
// their rules: links, widths, sentences, and what the blocks of code contain.
//
// [Parse] divides a document into blocks. It knows what the documents use: headings,
// paragraphs, lists, tables, fenced and indented code, link definitions, HTML comments and
// tags. It knows no block quotes, no headings underlined with dashes, and no nested fences.
// Only tests import it.
package markdown

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Kind says what a block is.
type Kind string

const (
	Text       Kind = "text"    // a paragraph, or one item of a list
	Heading    Kind = "heading" // without its number signs
	Table      Kind = "table"
	Code       Kind = "code"
	Definition Kind = "definition" // of a link
)

// Block is a part of a document.
type Block struct {
	Kind    Kind
	Line    int    // of its first line, from 1
	Info    string // of fenced code: the words after the fence
	Text    string // of code: without fence and indentation
	Comment string // the HTML comment before the block, without its marks

	Indented bool // code without a fence
}

// Language returns the first word after the fence of a block of code.
func (b Block) Language() string {
	language, _, _ := strings.Cut(b.Info, " ")
	return language
}

// Document is a file in Markdown.
type Document struct {
	Name   string // relative to the root of the checkout, with slashes
	Lines  []string
	Blocks []Block
}

// ReadAll reads every document below root, but for installed packages and fixtures.
func ReadAll(root string) (docs []Document, err error) {
	err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if skipped := map[string]bool{"node_modules": true, ".git": true, "bin": true, "vendor": true, "dist": true, "testdata": true}; d.IsDir() && skipped[d.Name()] {
			return filepath.SkipDir
		}
		if d.IsDir() || filepath.Ext(name) != ".md" {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, name)
		docs = append(docs, Parse(filepath.ToSlash(relative), string(text)))
		return err
	})
	return docs, err
}

// Parse divides a document into blocks.
func Parse(name, text string) Document {
	d := Document{Name: name, Lines: strings.Split(strings.TrimSuffix(text, "\n"), "\n")}
	p := parser{doc: &d, blank: true}
	for p.next < len(d.Lines) {
		p.step()
	}
	return d
}
