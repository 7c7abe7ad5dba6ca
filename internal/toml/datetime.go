package toml

import (
	"strings"
	"time"
)

// isDateTime reports whether a text is a date, a time or both, as TOML 1.1 has them.
func isDateTime(s string) bool {
	if len(s) < len(time.DateOnly) || s[4] != '-' {
		rest, ok := afterTime(s)
		return ok && rest == ""
	}
	date, rest := s[:len(time.DateOnly)], s[len(time.DateOnly):]
	if _, err := time.Parse(time.DateOnly, date); err != nil {
		return false
	}
	if rest == "" {
		return true
	}
	if !strings.ContainsRune("Tt ", rune(rest[0])) {
		return false
	}
	rest, ok := afterTime(rest[1:])
	return ok && (rest == "" || isOffset(rest))
}

// afterTime reads HH:MM, HH:MM:SS or HH:MM:SS.FRACTION at the start of s. It does not
// use time.Parse, which accepts 9:00 and a fraction after a comma.
func afterTime(s string) (rest string, ok bool) {
	if s, ok = afterNumber(s, "23"); !ok || !strings.HasPrefix(s, ":") {
		return s, false
	}
	if s, ok = afterNumber(s[1:], "59"); !ok || !strings.HasPrefix(s, ":") {
		return s, ok
	}
	if s, ok = afterNumber(s[1:], "59"); !ok || !strings.HasPrefix(s, ".") {
		return s, ok
	}
	rest = strings.TrimLeft(s[1:], "0123456789")
	return rest, len(rest) < len(s)-1
}

// isOffset reports whether s is the offset of a time zone: Z, or +HH:MM.
func isOffset(s string) bool {
	if s == "Z" || s == "z" {
		return true
	}
	if s[0] != '+' && s[0] != '-' {
		return false
	}
	rest, ok := afterNumber(s[1:], "23")
	if !ok || !strings.HasPrefix(rest, ":") {
		return false
	}
	rest, ok = afterNumber(rest[1:], "59")
	return ok && rest == ""
}

func afterNumber(s, most string) (rest string, ok bool) {
	if len(s) < 2 || s[0] < '0' || s[0] > '9' || s[1] < '0' || s[1] > '9' {
		return s, false
	}
	return s[2:], s[:2] <= most
}
