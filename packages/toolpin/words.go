package toolpin

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mcp-jail/mcp-jail/internal/show"
)

// Bounds of one line of words, in characters.
const (
	maxShownName = 80
	maxShownText = 160
	contextWidth = 24 // shown before the first character that differs
	shownFields  = 4
)

// String returns the difference in one line. Everything that a server wrote is bounded and
// shown as [show.Named] shows it.
func (d Difference) String() string {
	tool := "tool " + named(d.Tool) + ": "
	times := ""
	if d.Times > 1 {
		times = fmt.Sprintf("; it is listed %d times, and clients differ in which one they call", d.Times)
	}
	switch d.Kind {
	case added:
		if len(d.Fields) > 0 {
			return tool + "it is new: " + quoted(d.Fields[0].New) + times
		}
		return tool + "it is new" + times
	case removed:
		return tool + "it is gone"
	case instructions:
		return "the server's instructions " + d.Fields[0].change(false)
	case Identity:
		var parts []string
		for _, f := range d.Fields {
			parts = append(parts, "the server's "+f.Path+" "+f.change(false))
		}
		return strings.Join(parts, "; ")
	}
	if len(d.Fields) == 0 {
		what := "its definition changed"
		switch {
		case d.Kind == annotations:
			what = "the annotations of one of its definitions changed"
		case d.Times <= 1:
			what += "; the pin has only the hash of one of the two texts"
		}
		return tool + what + times
	}
	var parts []string
	for i, f := range d.Fields {
		if i == shownFields {
			parts = append(parts, "and more")
			break
		}
		parts = append(parts, "its "+named(f.Path)+" "+f.change(true))
	}
	return tool + strings.Join(parts, "; ") + times
}

// named returns a name for a sentence of this package. A name that could be taken for words of the
// sentence is in quotation marks, which it cannot end because of [show.Named].
func named(name string) string {
	plain := len(name) <= maxShownName
	for i := 0; i < len(name); i++ {
		c := name[i]
		plain = plain && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("_-./[]$@", c) >= 0)
	}
	if plain && name != "" {
		return name
	}
	return "«" + show.Named(name, maxShownName) + "»"
}

// change says how a field changed. isJSON tells that its values are canonical JSON.
func (f field) change(isJSON bool) string {
	old, value := f.Old, f.New
	if isJSON {
		a, okA := JSON(old).text()
		b, okB := JSON(value).text()
		if (okA || old == "") && (okB || value == "") {
			old, value = a, b // strings: shown without their escapes
		}
	}
	switch {
	case f.Old == "":
		return "is new: «" + show.Named(value, maxShownText) + "»"
	case f.New == "":
		return "is gone: it was «" + show.Named(old, maxShownText) + "»"
	}
	old, value = window(old, value)
	return "changed: «" + show.Named(old, maxShownText) + "» → «" + show.Named(value, maxShownText) + "»"
}

func quoted(value string) string {
	if text, ok := JSON(value).text(); ok {
		value = text
	}
	return "«" + show.Named(value, maxShownText) + "»"
}

// window cuts the common beginning of two texts, if one of them is too long, so that the first
// difference shows. It keeps the last characters of that beginning.
func window(a, b string) (string, string) {
	if fits(a) && fits(b) {
		return a, b
	}
	same := 0
	for same < len(a) && same < len(b) && a[same] == b[same] {
		same++
	}
	for same > 0 && (same < len(a) && !utf8.RuneStart(a[same]) || same < len(b) && !utf8.RuneStart(b[same])) {
		same--
	}
	for width := 0; same > 0; {
		_, n := utf8.DecodeLastRuneInString(a[:same])
		one, _ := show.NamedWidth(a[same-n:])
		if width += one; width > contextWidth {
			break
		}
		same -= n
	}
	if same == 0 {
		return a, b
	}
	return "…" + a[same:], "…" + b[same:]
}

func fits(text string) bool {
	for width := 0; text != ""; {
		one, n := show.NamedWidth(text)
		if width += one; width > maxShownText {
			return false
		}
		text = text[n:]
	}
	return true
}
