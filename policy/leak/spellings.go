package leak

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
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

// IsPlainValue reports whether a value is clearly not secret and a diagnosis may need to name it: a
// path, or a URL without a password, a query and a fragment. A value with a part that looks like a
// token is not plain.
func IsPlainValue(value string) bool {
	if strings.ContainsAny(value, " \t\r\n\x00") {
		return false
	}
	for _, start := range []string{"/", "~/", "./", "../"} {
		if strings.HasPrefix(value, start) {
			return !holdsToken(value)
		}
	}
	u, err := url.Parse(value)
	if err != nil || u.Scheme == "" || u.Opaque != "" || u.RawQuery != "" || u.Fragment != "" || u.Host == "" && u.Scheme != "file" {
		return false
	}
	_, password := u.User.Password()
	return !password && !holdsToken(u.User.Username()) && !holdsToken(u.Host) && !holdsToken(u.Path)
}

// IsPlainHost reports whether a variable is one that by its name holds a host or a port, and its value
// is one. Like an IsPlainValue, that is not secret.
func IsPlainHost(name, value string) bool {
	ending := name[strings.LastIndexByte(name, '_')+1:]
	if i := strings.LastIndexByte(value, ':'); i > 0 && isNumeric(value[i+1:]) {
		value = value[:i]
	}
	switch ending {
	case "HOST", "HOSTNAME", "SERVER", "ADDR", "ADDRESS", "ENDPOINT", "DOMAIN", "BROKER", "BROKERS", "PGHOST", "PGHOSTADDR":
		return len(value) < 254 && !holdsToken(value) && strings.Trim(value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_") == ""
	case "PORT", "PGPORT":
		return isNumeric(value)
	}
	return false
}

// holdsToken reports whether s has a run of characters that people would not choose: 16 or more
// with letters and digits, or 8 or more with small letters, capitals and digits.
func holdsToken(s string) bool {
	run, lower, upper, digit := 0, false, false, false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z':
			lower = true
		case c >= 'A' && c <= 'Z':
			upper = true
		case c >= '0' && c <= '9':
			digit = true
		case c == '+' || c == '=' || c == '%':
		default:
			run, lower, upper, digit = 0, false, false, false
			continue
		}
		run++
		if run >= 16 && digit && (lower || upper) || run >= 8 && lower && upper && digit {
			return true
		}
	}
	return false
}
