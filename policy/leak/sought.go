package leak

import (
	"net/url"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// shortest is the length of the shortest value that is looked for in messages and requests. Shorter
// ones occur by chance.
const shortest = 8

// longestPart is how many bytes of a value are looked for at most, from its end.
const longestPart = 4 << 10

// Unsought is a secret variable whose value is not looked for in what the server sends.
type Unsought struct{ Name, Why string }

// Sought returns the secrets to look for in the messages and requests of a server. env are its
// variables. Those that were granted as secrets are looked for, but for others, whose values are
// short, or occur in texts that show no secret.
//
// A value that the server does not hold is not looked for: under "block" the refused answer would
// tell it that it has guessed the value.
func Sought(env []policy.Variable) (secrets []Secret, others []Unsought) {
	for _, v := range env {
		if !v.Secret || v.Value == policy.Placeholder(v.Name) {
			continue
		}
		if why := whyNot(v.Name, strings.TrimSpace(v.Value)); why != "" {
			others = append(others, Unsought{v.Name, why})
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
