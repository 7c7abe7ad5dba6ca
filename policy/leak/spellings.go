package leak

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
)

func spellings(value string) (all []string) {
	digits := hex.EncodeToString([]byte(value))
	all = append(all, value, digits, strings.ToUpper(digits))
	for phase := range 3 {
		all = append(all, within(base64.RawStdEncoding, value, phase), within(base64.RawURLEncoding, value, phase))
	}
	all = append(all, jsonSpellings(value)...)
	all = append(all, urlSpellings(value)...)
	return append(all, htmlSpellings(value)...)
}

func escaped(value string, escape func(c byte) string) string {
	var out strings.Builder
	for _, c := range []byte(value) {
		if text := escape(c); text != "" {
			out.WriteString(text)
		} else {
			out.WriteByte(c)
		}
	}
	return out.String()
}

// jsonSpellings returns a value as parts of strings of JSON. Every program escapes quotes and
// backslashes. Some escape more as \u: those for pages in HTML (Go), PHP with its JSON_HEX options,
// and .NET.
func jsonSpellings(value string) (all []string) {
	quoted, _ := json.Marshal(value)
	all = append(all, string(quoted[1:len(quoted)-1]))
	for _, hexed := range []string{"", "<>&", `<>&'"`, "<>&'\"+`"} {
		for _, verb := range []string{`\u%04x`, `\u%04X`} {
			for _, slash := range []string{"", `\/`} {
				all = append(all, escaped(value, func(c byte) string {
					switch {
					case strings.IndexByte(hexed, c) >= 0:
						return fmt.Sprintf(verb, c)
					case c == '"' || c == '\\':
						return `\` + string(c)
					case c == '/':
						return slash
					}
					return ""
				}))
			}
		}
	}
	return all
}

// urlSpellings returns a value with the escapes of URLs: RFC 3986, JavaScript's encodeURIComponent and
// encodeURI, Python's quote, paths and forms, with capital and small digits.
func urlSpellings(value string) (all []string) {
	for _, plain := range []string{"-_.~", "-_.!~*'()", "-_.!~*'();/?:@&=+$,#", "-_.~/", "-_.~$&+=:@", "-_.*"} {
		for _, verb := range []string{"%%%02X", "%%%02x"} {
			all = append(all, escaped(value, func(c byte) string {
				isWord := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
				switch {
				case isWord || strings.IndexByte(plain, c) >= 0:
					return ""
				case c == ' ' && plain == "-_.*":
					return "+"
				}
				return fmt.Sprintf(verb, c)
			}))
		}
	}
	return all
}

// htmlSpellings returns a value with the escapes of HTML and XML. Programs differ in those of quotes.
func htmlSpellings(value string) (all []string) {
	for _, quote := range []string{"&#34;", "&quot;", "&#x22;", ""} {
		for _, apostrophe := range []string{"&#39;", "&#x27;", "&#039;", "&apos;", ""} {
			all = append(all, escaped(value, func(c byte) string {
				return map[byte]string{'&': "&amp;", '<': "&lt;", '>': "&gt;", '"': quote, '\'': apostrophe}[c]
			}))
		}
	}
	return all
}
