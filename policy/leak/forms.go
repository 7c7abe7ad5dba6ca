package leak

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
)

// Form is how a secret was written.
type Form string

// Forms.
const (
	Plain  Form = "as it is"
	Base64 Form = "in base64"
	Hex    Form = "in hexadecimal digits"
	Token  Form = "by its form" // a well-known kind of token: see tokens
)

// IsValid reports whether f is one of the forms above.
func (f Form) IsValid() bool { return f == Plain || f == Base64 || f == Hex || f == Token }

// pattern is one form of a secret.
type pattern struct {
	text   string
	secret int // index in Finder.names
	form   Form
}

func formsOf(value string) (all []pattern) {
	add := func(form Form, texts ...string) {
		for _, text := range texts {
			if len(text) >= Shortest {
				all = append(all, pattern{text: text, form: form})
			}
		}
	}
	add(Plain, value)
	digits := hex.EncodeToString([]byte(value))
	for _, digits := range []string{digits, strings.ToUpper(digits)} {
		add(Hex, digits, pairs(digits, " "), pairs(digits, ":"))
	}
	for phase := range 3 {
		for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			add(Base64, within(encoding, value, phase))
		}
	}
	return all
}

func pairs(digits, between string) string {
	var b strings.Builder
	for at := 0; at < len(digits); at += 2 {
		if at > 0 {
			b.WriteString(between)
		}
		b.WriteString(digits[at : at+2])
	}
	return b.String()
}

// within returns the base64 digits of a value that do not depend on the bytes around it. phase is
// how many bytes of its first group of three are before the value.
func within(encoding *base64.Encoding, value string, phase int) string {
	text := encoding.EncodeToString([]byte(strings.Repeat("\x00", phase) + value))
	first := (phase*8 + 5) / 6 // earlier digits have bits of the bytes before the value
	last := (phase + len(value)) * 8 / 6
	return text[first:last]
}
