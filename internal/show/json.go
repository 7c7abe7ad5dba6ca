package show

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"
)

// JSON replaces hidden characters in JSON by \u escapes of the same meaning. The encoder leaves
// controls from U+007F on and direction marks unescaped, and people print JSON on terminals. data
// must be valid UTF-8 from an encoder.
func JSON(data []byte) []byte {
	var out []byte
	var open marks
	done := 0
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		if i += n; !open.isFlood(r) && (r < 0x7f || !IsHidden(r)) {
			continue
		}
		out = append(out, data[done:i-n]...)
		done = i
		if hi, lo := utf16.EncodeRune(r); hi != utf8.RuneError {
			out = fmt.Appendf(out, `\u%04x\u%04x`, hi, lo)
		} else {
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return append(out, data[done:]...)
}

// jsonString returns s as a JSON string. Characters that only HTML needs escaped stay.
func jsonString(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(s) != nil { // a string can be encoded
		return `""`
	}
	return string(JSON(bytes.TrimRight(b.Bytes(), "\n")))
}
