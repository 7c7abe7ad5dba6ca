package markdown

import (
	"reflect"
	"strings"
	"testing"
)

const example = "# A `title` of *two* (parts)\n\n" +
	"One sentence, with `code. In it`. [A link](a.md#b) ends\nhere! ![picture](p.svg)\n" +
	"- an item\n  that goes on\n\n      indented in it\n- another; <a href=\"c.md\">x</a>\n\n" +
	"After the list.\n\n    $ indented\n\n    still\n\n" +
	"| a | b |\n|---|---|\n| [t](t.md) | |\n\n" +
	"<!-- below:\nx = 1\n-->\n```toml\ny = 2\n```\n" +
	"[ref]: d.md \"title\"\n\n## Twice\n\n## Twice\n<a id=\"own\"></a>\n"

// TestParse tests what each block of an example is.
func TestParse(t *testing.T) {
	d := Parse("x.md", example)
	var got []Block
	var links, sentences []string
	for _, b := range d.Blocks {
		got = append(got, b)
		links = append(links, b.Links()...)
		sentences = append(sentences, b.Sentences()...)
	}
	want := []Block{
		{Kind: Heading, Line: 1, Text: "A `title` of *two* (parts)"},
		{Kind: Text, Line: 3, Text: "One sentence, with `code. In it`. [A link](a.md#b) ends\nhere! ![picture](p.svg)"},
		{Kind: Text, Line: 5, Text: "an item\nthat goes on"},
		{Kind: Code, Line: 8, Text: "indented in it\n", Indented: true},
		{Kind: Text, Line: 9, Text: "another; <a href=\"c.md\">x</a>"},
		{Kind: Text, Line: 11, Text: "After the list."},
		{Kind: Code, Line: 13, Text: "$ indented\n\nstill\n", Indented: true},
		{Kind: Table, Line: 17, Text: "| a | b |\n|---|---|\n| [t](t.md) | |"},
		{Kind: Code, Line: 24, Info: "toml", Text: "y = 2\n", Comment: "below:\nx = 1"},
		{Kind: Definition, Line: 27, Text: "[ref]: d.md \"title\""},
		{Kind: Heading, Line: 29, Text: "Twice"},
		{Kind: Heading, Line: 31, Text: "Twice"},
		{Kind: Text, Line: 32, Text: "<a id=\"own\"></a>"},
	}
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			t.Fatalf("block %d of\n%+v\nwant\n%+v", i, got, want)
		}
	}
	if want := strings.Fields("a.md#b p.svg c.md t.md d.md"); !reflect.DeepEqual(links, want) {
		t.Errorf("links %q, want %q", links, want)
	}
	if want := []string{"One sentence, with CODE.", "A link ends here!", "an item that goes on", "another; x", "After the list."}; !reflect.DeepEqual(sentences, want) {
		t.Errorf("sentences %q, want %q", sentences, want)
	}
	anchors := map[string]bool{"a-title-of-two-parts": true, "twice": true, "twice-1": true, "own": true}
	if got := d.Anchors(); !reflect.DeepEqual(got, anchors) {
		t.Errorf("anchors %v, want %v", got, anchors)
	}
	if n := Words("a b-c – 4 CODE."); n != 4 {
		t.Errorf("%d words", n)
	}
}
