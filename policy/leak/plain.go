package leak

import (
	"net/url"
	"strings"
)

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
