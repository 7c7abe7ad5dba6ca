package main

import (
	"regexp"
	"strings"
)

var (
	tableLine = regexp.MustCompile(`^\[\[?servers\..+\]\]?$`)
	keyLine   = regexp.MustCompile(`^[a-z_]+\s*=\s*\S`)
)

// grant picks the lines of policy out of what the jail said: tables of a server, each with its keys. "" when it offered
// none. They can be used as they are, in a file of their own.
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

// withoutGrant is the first line of what the jail said that is not policy.
func withoutGrant(said string) string {
	for line := range strings.Lines(said) {
		if line = strings.TrimSpace(line); line != "" && !tableLine.MatchString(line) && !keyLine.MatchString(line) {
			return line
		}
	}
	return ""
}
