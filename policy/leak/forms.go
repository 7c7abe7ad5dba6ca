package leak

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf16"
)

// Form is how a secret was written.
type Form string

// Forms.
const (
	Plain    Form = "as it is" // also with the escapes of JSON and of URLs
	inBase64 Form = "in base64"
	inHex    Form = "in hexadecimal digits"
	Token    Form = "by its form" // a well-known kind of token: see kinds
)

// IsValid reports whether f is one of the forms above.
func (f Form) IsValid() bool {
	return f == Plain || f == inBase64 || f == inHex || f == Token
}

// written is a value in one of its forms.
type written struct {
	text  string
	form  Form
	phase int // of inBase64: see within
}

// leastEncoded is the length of the shortest encoded form that is looked for. Shorter ones occur by
// chance.
const leastEncoded = 8

// formsOf returns a value in each of its forms, each text once.
func formsOf(value string) (all []written) {
	add := func(w written) {
		if !slices.ContainsFunc(all, func(o written) bool { return o.text == w.text }) {
			all = append(all, w)
		}
	}
	for _, w := range encodings(value) {
		if w.form != Plain && len(w.text) < leastEncoded {
			continue
		}
		for _, text := range slices.Concat([]string{w.text}, jsonTexts(w.text), urlTexts(w.text)) { // + and / of base64, too
			add(written{text, w.form, w.phase})
		}
		if w.form == inBase64 {
			add(written{strings.ToLower(w.text), w.form, w.phase}) // as a label of a host's name
		}
	}
	return all
}

// encodings returns a value as it is, in hexadecimal digits and in base64.
func encodings(value string) []written {
	digits := hex.EncodeToString([]byte(value))
	all := []written{{text: value, form: Plain}, {text: digits, form: inHex}, {text: strings.ToUpper(digits), form: inHex}}
	for phase := range 3 {
		for _, e := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			all = append(all, written{within(e, value, phase), inBase64, phase})
		}
	}
	return all
}

// within returns the base64 digits of a value that do not depend on the bytes around it. phase is
// how many bytes of its first group of three are before the value.
func within(encoding *base64.Encoding, value string, phase int) string {
	text := encoding.EncodeToString([]byte(strings.Repeat("\x00", phase) + value))
	last := (phase + len(value)) * 8 / 6
	return text[digitsBefore(phase):last]
}

// digitsBefore is how many digits have bits of the bytes before the value.
func digitsBefore(phase int) int { return (phase*8 + 5) / 6 }

// jsonTexts returns a value as programs write it in strings of JSON. All escape quotes and
// backslashes.
func jsonTexts(value string) (all []string) {
	ofGo, _ := json.Marshal(value)
	hexed := strings.NewReplacer(`\"`, `\u0022`, "'", `\u0027`, "&", `\u0026`, "<", `\u003c`, ">", `\u003e`) // PHP with JSON_HEX
	more := strings.NewReplacer("+", `\u002b`, "`", `\u0060`)                                                // and .NET
	for _, text := range []string{string(ofGo[1 : len(ofGo)-1]), jsonText(value, false), jsonText(value, true)} {
		slashes := strings.ReplaceAll(text, "/", `\/`) // PHP
		for _, text := range []string{text, slashes, hexed.Replace(text), hexed.Replace(slashes), more.Replace(hexed.Replace(text))} {
			all = append(all, text, recased(text, `\u`, 4, strings.ToUpper))
		}
	}
	return all
}

// jsonText returns a value as JavaScript writes it in a string of JSON, or in ASCII as Python does.
func jsonText(value string, ascii bool) string {
	var out strings.Builder
	for _, r := range value {
		short := strings.IndexRune("\"\\\b\f\n\r\t", r)
		switch {
		case short >= 0:
			out.WriteString(`\` + `"\bfnrt`[short:short+1])
		case r < ' ' || ascii && r > '~':
			for _, unit := range utf16.AppendRune(nil, r) {
				fmt.Fprintf(&out, `\u%04x`, unit)
			}
		default:
			out.WriteRune(r)
		}
	}
	return out.String()
}

// recased returns a text with the digits after each mark in the other case.
func recased(text, mark string, digits int, to func(string) string) string {
	parts := strings.Split(text, mark)
	for i, p := range parts[1:] {
		n := min(digits, len(p))
		parts[i+1] = to(p[:n]) + p[n:]
	}
	return strings.Join(parts, mark)
}

// urlTexts returns a value as programs write it in URLs.
func urlTexts(value string) (all []string) {
	query := url.QueryEscape(value)
	strict := strings.ReplaceAll(query, "+", "%20") // RFC 3986
	component := strings.NewReplacer("%21", "!", "%27", "'", "%28", "(", "%29", ")", "%2A", "*").Replace(strict)
	whole := strings.NewReplacer("%3B", ";", "%2F", "/", "%3F", "?", "%3A", ":", "%40", "@", "%26", "&", "%3D", "=", "%2B", "+", "%24", "$", "%2C", ",", "%23", "#").Replace(component)
	// Forms of HTML, paths of Go, encodeURIComponent and encodeURI of JavaScript, Python's quote.
	for _, text := range []string{query, strict, url.PathEscape(value), component, whole, strings.ReplaceAll(strict, "%2F", "/")} {
		all = append(all, text, recased(text, "%", 2, strings.ToLower))
	}
	return all
}
