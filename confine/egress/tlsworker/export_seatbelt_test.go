//go:build linux && seatbelt

package tlsworker

import "github.com/mcp-jail/mcp-jail/confine/internal/seatbelt"

// ReplaceText has starts use this text.
func ReplaceText(text string) {
	compileText = func(string) (seatbelt.Text, error) { return seatbelt.Text{Profile: text}, nil }
}
