package main

import (
	"regexp"
	"strings"
)

var (
	tableLine = regexp.MustCompile(`^\[\[?servers\..+\]\]?$`)
	keyLine   = regexp.MustCompile(`^[a-z_]+\s*=\s*\S`)
)

// grant returns the lines of policy in a message of the jail: tables of a server with their keys. They are a valid
// configuration file. It returns "" if the message has none.
func grant(said string) string {
	var lines []string
	inside := false
	for line := range strings.Lines(said) {
		line = strings.TrimSpace(line)
		switch {
		case tableLine.MatchString(line):
			inside = true
		case inside && keyLine.MatchString(line):
		default:
			inside = false
		}
		if inside {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

// withoutGrant returns the first line of a message of the jail that is not policy.
func withoutGrant(said string) string {
	for line := range strings.Lines(said) {
		if line = strings.TrimSpace(line); line != "" && !tableLine.MatchString(line) && !keyLine.MatchString(line) {
			return line
		}
	}
	return ""
}
