package leak

import (
	"hash/crc32"
	"strings"
)

func hasChecksum(_, rest string) bool {
	secret, sum := rest[:len(rest)-6], rest[len(rest)-6:]
	n := crc32.ChecksumIEEE([]byte(secret))
	const digits62 = digits + letters
	for at := len(sum) - 1; at >= 0; at-- {
		if sum[at] != digits62[n%62] {
			return false
		}
		n /= 62
	}
	return true
}

func looksRandom(_, rest string) bool { return isRandom(rest) }

// isRandom reports whether people would not have written a text as an example. It has characters of
// two kinds (small letters, capitals, digits) and ten different ones. It has no character four
// times in a row, and not the word "example".
func isRandom(s string) bool {
	var seen [256]bool
	different, row := 0, 1
	lower, upper, digit := 0, 0, 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if !seen[c] {
			seen[c] = true
			different++
		}
		if row++; i == 0 || s[i-1] != c {
			row = 1
		}
		if row == 4 {
			return false
		}
		switch {
		case c >= 'a' && c <= 'z':
			lower = 1
		case c >= 'A' && c <= 'Z':
			upper = 1
		case c >= '0' && c <= '9':
			digit = 1
		}
	}
	return different >= 10 && lower+upper+digit >= 2 && !strings.Contains(strings.ToUpper(s), "EXAMPLE")
}

// isStateless reports whether rest continues the token of an app's installation: the number of the
// app, "_" and a JWT. A JWT is a header and a payload of JSON, and a signature, here of 32 bytes or
// more.
func isStateless(_, rest string) bool {
	app, jwt, _ := strings.Cut(rest, "_")
	header, jwt, _ := strings.Cut(jwt, ".")
	payload, jwt, _ := strings.Cut(jwt, ".")
	signature, _, _ := strings.Cut(jwt, ".")
	return app != "" && strings.Trim(app, digits) == "" && strings.HasPrefix(header, "eyJ") &&
		strings.HasPrefix(payload, "eyJ") && len(signature) >= 43 && isRandom(signature)
}

// isFineGrained reports whether rest is the secret of a fine-grained token: a "_" is between
// its two parts.
func isFineGrained(_, rest string) bool {
	return rest[22] == '_' && strings.Count(rest, "_") == 1 && isRandom(rest)
}

func isSlack(_, rest string) bool {
	at := strings.LastIndexByte(rest, '-')
	return at > 0 && len(rest)-at > 20 && isRandom(rest[at+1:]) && strings.ContainsAny(rest[:at], digits)
}

// isAWS reports whether rest is the identifier of a key: it has capital letters and the digits that
// base32 has. The identifiers in the manuals end with "EXAMPLE", which isRandom refuses.
func isAWS(_, rest string) bool {
	return strings.Trim(rest, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") == "" && strings.ContainsAny(rest, "234567") && isRandom(rest)
}

// isOpenAI reports whether "sk-" and twenty characters or more are before the middle of a key,
// and both halves look random.
func isOpenAI(before, rest string) bool {
	begin := strings.LastIndex(before, "sk-")
	if begin < 0 || begin > 0 && isLetterOrDigit(before[begin-1]) && !endsEscape([]byte(before[:begin])) {
		return false
	}
	secret := before[begin+len("sk-"):]
	return len(secret) >= 20 && strings.Trim(secret, urlSafe) == "" && isRandom(secret) && isRandom(rest)
}

// isAnthropic reports whether rest has a kind with a number ("api03-") and then a secret.
func isAnthropic(_, rest string) bool {
	kind, secret, ok := strings.Cut(rest, "-")
	return ok && len(kind) >= 4 && len(kind) <= 8 && strings.TrimRight(kind, digits) != kind && isRandom(secret)
}

// isPrivateKey reports whether "-----BEGIN" and the name of an algorithm, or none, is before
// "PRIVATE KEY", and a line of base64 after it. An encrypted key of the old form has header fields
// there, and is not found.
func isPrivateKey(before, rest string) bool {
	begin := strings.LastIndex(before, "-----BEGIN ")
	if begin < 0 || strings.Trim(before[begin+len("-----BEGIN "):], "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ") != "" {
		return false
	}
	// A line end in a string of JSON is an escape.
	for strings.HasPrefix(rest, "\\") {
		rest = strings.TrimLeft(rest, "\\")
		if rest == "" || rest[0] != 'n' && rest[0] != 'r' {
			return false
		}
		rest = rest[1:]
	}
	rest = strings.TrimLeft(rest, " \t\r\n")
	line := rest[:len(rest)-len(strings.TrimLeft(rest, alphanumeric+"+/="))]
	return len(line) >= 40 && isRandom(line)
}
