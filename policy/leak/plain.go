package leak

import (
	"net/url"
	"slices"
	"strings"
)

// IsPlainValue reports whether a value is clearly not secret and a diagnosis may need to name it: a
// path, or a URL without a password, a query and a fragment. A value with a part that looks like a
// token is not plain.
func IsPlainValue(value string) bool {
	if strings.ContainsAny(value, " \t\r\n\x00") {
		return false
	}
	if top, _, ok := strings.Cut(value, "/"); ok && slices.Contains([]string{"", "~", ".", ".."}, top) {
		return !holdsToken(value)
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
	if i := strings.LastIndexByte(value, ':'); i > 0 && isNumber(value[i+1:]) {
		value = value[:i]
	}
	switch ending {
	case "HOST", "HOSTNAME", "SERVER", "ADDR", "ADDRESS", "ENDPOINT", "DOMAIN", "BROKER", "BROKERS", "PGHOST", "PGHOSTADDR":
		return len(value) < 254 && !holdsToken(value) && strings.Trim(value, urlSafe+".") == ""
	case "PORT", "PGPORT":
		return isNumber(value)
	}
	return false
}

const urlSafe = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_"

// holdsToken reports whether s has a run of characters that people would not choose: 16 or more
// with letters and digits, or 8 or more with small letters, capitals and digits.
func holdsToken(s string) bool {
	for run := range strings.FieldsFuncSeq(s, func(r rune) bool { return r >= 0x80 || !isLetterOrDigit(byte(r)) && !strings.ContainsRune("+=%", r) }) {
		digit := strings.ContainsAny(run, "0123456789")
		lower, upper := run != strings.ToUpper(run), run != strings.ToLower(run)
		if digit && (len(run) >= 16 && (lower || upper) || len(run) >= 8 && lower && upper) {
			return true
		}
	}
	return false
}
