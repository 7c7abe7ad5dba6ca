package main

import "strings"

// grant returns the command in a message of the jail that grants what was missing, or "".
func grant(said string) string {
	for line := range strings.Lines(said) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "mcp-jail grant ") {
			return line
		}
	}
	return ""
}

// withoutGrant returns the first line of a message of the jail that is not the command.
func withoutGrant(said string) string {
	for line := range strings.Lines(said) {
		if line = strings.TrimSpace(line); line != "" && line != grant(said) {
			return line
		}
	}
	return ""
}
