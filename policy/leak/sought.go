package leak

import (
	"net/url"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// shortest is the length of the shortest value that is looked for in messages and requests. Shorter
// ones occur by chance.
const shortest = 8

// longestPart is how many bytes of a value are looked for at most, from its end.
const longestPart = 4 << 10

// unsought is a secret variable whose value is not looked for in what the server sends.
type unsought struct{ Name, Why string }

// Sought returns the secrets to look for in the messages and requests of a server. env are its
// variables. Those that were granted as secrets are looked for, but for others, whose values are
// short, or occur in texts that show no secret.
//
// A value that the server does not hold is not looked for: under "block" the refused answer would
// tell it that it has guessed the value.
func Sought(env []policy.Variable) (secrets []Secret, others []unsought) {
	for _, v := range env {
		if !v.Secret || v.Value == policy.Placeholder(v.Name) {
			continue
		}
		if why := whyNot(v.Name, strings.TrimSpace(v.Value)); why != "" {
			others = append(others, unsought{v.Name, why})
			continue
		}
		for _, part := range Parts(v.Value) {
			if len(part) >= shortest && !isWords(part) {
				secrets = append(secrets, Secret{Name: v.Name, Value: part[max(0, len(part)-longestPart):]})
			}
		}
	}
	return secrets, others
}

// Parts returns a value without the white space around it, and what of it is a secret alone: the
// password of a URL, and each longer line at its end.
func Parts(value string) []string {
	value = strings.TrimSpace(value)
	parts := []string{value}
	if password := passwordOf(value); password != "" {
		parts = append(parts, password)
	}
	if !strings.ContainsAny(value, "\r\n") {
		return parts
	}
	last := value[max(0, len(value)-longestPart):]
	for line := range strings.FieldsFuncSeq(last, func(r rune) bool { return r == '\n' || r == '\r' }) {
		// The frame of a PEM block is no secret, and short lines are too common.
		if line = strings.TrimSpace(line); len(line) >= 16 && !strings.HasPrefix(line, "-----") {
			parts = append(parts, line)
		}
	}
	return parts
}

func passwordOf(value string) string {
	u, err := url.Parse(value)
	if err != nil {
		return ""
	}
	password, _ := u.User.Password()
	return password
}

func whyNot(name, value string) string {
	password := passwordOf(value)
	switch {
	case len(password) >= shortest && !isWords(password):
		return ""
	case len(value) < shortest:
		return "its value has fewer than 8 bytes"
	case IsPlainValue(value) || IsPlainHost(name, value):
		return "its value is a path or an address"
	case isNumber(value):
		return "its value is a number"
	case isWords(value):
		return "its value is made of words"
	case !isNameOfSecret(name) && !holdsToken(value):
		return "neither its name nor its value looks like a secret"
	}
	return ""
}

func isNumber(value string) bool {
	return len(value) < 16 && strings.Trim(value, "0123456789.:,-_ ") == ""
}

func isWords(value string) bool {
	lower := strings.ToLower(value)
	if value != lower && value != strings.ToUpper(value) && value != strings.ToUpper(value[:1])+lower[1:] {
		return false
	}
	return len(value) < 16 && strings.Trim(lower, "abcdefghijklmnopqrstuvwxyz.-_ ") == ""
}

// isNameOfSecret reports whether people give a name to secrets only. policy.LooksLikeSecret accepts
// more names: variables with AUTH or SESSION in their names hold authors and desktops too.
func isNameOfSecret(name string) bool {
	for _, part := range [...]string{"AUTHOR", "AUTH", "SESSION", "COOKIE"} {
		name = strings.ReplaceAll(strings.ToUpper(name), part, "")
	}
	return policy.LooksLikeSecret(name)
}

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
