package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// validName tells whether a server can have this name: it becomes a directory
// name and a word on command lines.
func ValidServerName(name string) bool {
	if name == "" || name[0] == '.' || len(name) > 100 {
		return false
	}
	return strings.IndexFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '.' && r != '_' && r != '-'
	}) < 0
}

// shortHash tells texts apart, also those that somebody chose to be alike.
func ShortHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}
