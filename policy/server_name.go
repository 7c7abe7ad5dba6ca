package policy

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// ValidServerName reports whether a server can have this name. It becomes the name of a
// directory and a word on command lines.
func ValidServerName(name string) bool {
	if name == "" || name[0] == '.' || len(name) > 100 {
		return false
	}
	return strings.IndexFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '.' && r != '_' && r != '-'
	}) < 0
}

// KeptName returns the name under which mcp-jail keeps what belongs to the server: its HOME, its
// records and what can be undone. A server with an id has the id. A project's server may have the name of one of the user's, and gets
// the hash of the project's file. The code of another directory under one name has the hash of that
// directory.
func (p *Policy) KeptName() string {
	if p.ID != "" {
		return p.ID
	}
	return KeptName(p.Server, cmp.Or(p.Project, p.CodeDir))
}

// KeptName is Policy.KeptName for a project's file or a directory; "" is the server that has the name.
func KeptName(server, place string) string {
	if place == "" {
		return server
	}
	return server + "-" + ShortHash(place)
}

// ShortHash returns a short digest. It is long enough (64 bits) that a text with the digest
// of another one is not easily found.
func ShortHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}
