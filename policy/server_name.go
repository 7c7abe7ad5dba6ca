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
// records and what can be undone. It is the key of a server that is in no table, such as its id.
func (p *Policy) KeptName() string { return cmp.Or(p.Key, KeptName(p.Server, p.Project)) }

// KeptName returns the name under which the server of a table is kept. A project's server may have the
// name of one of the user's, and gets the hash of the project's file, which is "" for the user's.
func KeptName(server, project string) string {
	if project == "" {
		return server
	}
	return server + "-" + ShortHash(project)
}

// ShortHash returns a short digest. It is long enough (64 bits) that a text with the digest
// of another one is not easily found.
func ShortHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}
