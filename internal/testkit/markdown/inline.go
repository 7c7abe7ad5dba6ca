package markdown

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

var (
	codeSpan  = regexp.MustCompile("(?s)``.+?``|`[^`]+`")
	linkMark  = regexp.MustCompile(`(?s)(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)`)
	tag       = regexp.MustCompile(`</?[a-zA-Z][^<>]*>`)
	attribute = regexp.MustCompile(`<(?:a|img|source)\s[^<>]*?(?:href|src)="([^"]+)"`)
	anchor    = regexp.MustCompile(`<a\s[^<>]*?(?:id|name)="([^"]+)"`)
	defined   = regexp.MustCompile(`^\[[^\]]+\]:\s+<?([^\s>]+)`)
	emphasis  = regexp.MustCompile(`\*\*|__|\*`)
	sentence  = regexp.MustCompile(`[.!?]["')\]*_]*\s+`)
)

// Links returns the targets of links and images in a block.
func (b Block) Links() (targets []string) {
	if b.Kind == Code {
		return nil
	}
	if b.Kind == Definition {
		return []string{defined.FindStringSubmatch(b.Text)[1]}
	}
	text := codeSpan.ReplaceAllString(b.Text, "CODE")
	for _, m := range linkMark.FindAllStringSubmatch(text, -1) {
		targets = append(targets, m[3])
		for _, inner := range linkMark.FindAllStringSubmatch(m[2], -1) { // a picture that is a link
			targets = append(targets, inner[3])
		}
	}
	for _, m := range attribute.FindAllStringSubmatch(text, -1) {
		targets = append(targets, m[1])
	}
	return targets
}

// Spans returns the code within the text of a block.
func (b Block) Spans() (spans []string) {
	text := b.Text
	if b.Kind == Table {
		text = strings.ReplaceAll(text, `\|`, "|")
	}
	for _, span := range codeSpan.FindAllString(text, -1) {
		spans = append(spans, strings.Join(strings.Fields(strings.Trim(span, "`")), " "))
	}
	return spans
}

// Sentences returns the sentences of a block of text as plain words. A piece of code counts
// as one word.
func (b Block) Sentences() (sentences []string) {
	if b.Kind != Text {
		return nil
	}
	text := codeSpan.ReplaceAllString(b.Text, "CODE")
	text = linkMark.ReplaceAllStringFunc(text, func(link string) string {
		if m := linkMark.FindStringSubmatch(link); m[1] == "" {
			return m[2]
		}
		return ""
	})
	text = tag.ReplaceAllString(text, "")
	text = emphasis.ReplaceAllString(text, "")
	for _, short := range []string{"e.g.", "i.e.", "vs."} {
		text = strings.ReplaceAll(text, short, strings.TrimSuffix(short, "."))
	}
	text = sentence.ReplaceAllStringFunc(text, func(end string) string { return strings.TrimSpace(end) + "\x00" })
	for s := range strings.SplitSeq(text, "\x00") {
		if s = strings.Join(strings.Fields(s), " "); s != "" {
			sentences = append(sentences, s)
		}
	}
	return sentences
}

// Words counts the words of a sentence: what contains a letter or a digit.
func Words(sentence string) (n int) {
	for word := range strings.FieldsSeq(sentence) {
		if strings.ContainsFunc(word, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
			n++
		}
	}
	return n
}

// Anchors returns the names below which the parts of the document can be linked.
func (d Document) Anchors() map[string]bool {
	anchors := map[string]bool{}
	seen := map[string]int{}
	for _, b := range d.Blocks {
		if b.Kind == Heading {
			slug := Slug(b.Text)
			if n := seen[slug]; n > 0 {
				anchors[fmt.Sprintf("%s-%d", slug, n)] = true
			} else {
				anchors[slug] = true
			}
			seen[slug]++
		}
		if b.Kind != Code {
			for _, m := range anchor.FindAllStringSubmatch(b.Text, -1) {
				anchors[m[1]] = true
			}
		}
	}
	return anchors
}

// Plain returns the text of a heading without its marks.
func Plain(heading string) string {
	heading = linkMark.ReplaceAllString(heading, "$2")
	return strings.ReplaceAll(tag.ReplaceAllString(emphasis.ReplaceAllString(heading, ""), ""), "`", "")
}

// Slug returns the anchor of a heading as GitHub makes it: small letters, a dash for each
// space, and no other sign than dashes and underscores.
func Slug(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, strings.TrimSpace(Plain(heading)))
}
