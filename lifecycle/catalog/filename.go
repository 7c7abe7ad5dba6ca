package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

const (
	suffix    = ".json"
	temporary = ".new-" // and digits: a file that is being written
	maxName   = 120     // bytes of a server's name in that of a file
)

// encodeName turns any server's name into one for a file, another for each:
// letters, digits, '-' and '_' as they are, other bytes as %XX, what is too long
// cut and told apart by a digest. No name has a dot, so that the first one ends it.
func encodeName(server string) string {
	var b strings.Builder
	for i := range len(server) {
		switch c := server[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	name := b.String()
	if len(name) > maxName {
		sum := sha256.Sum256([]byte(server))
		name = name[:maxName-33] + "~" + hex.EncodeToString(sum[:16])
	}
	return name
}

func fileName(server, key string) string { return encodeName(server) + "." + key + suffix }

// splitName is the inverse of fileName; ok is false for what it never returned.
func splitName(name string) (server string, ok bool) {
	rest, is := strings.CutSuffix(name, suffix)
	server, key, dotted := strings.Cut(rest, ".")
	return server, is && dotted && isKey(key) && len(server) <= maxName
}

// isKey tells whether a string is one that Key returns.
func isKey(s string) bool {
	return len(s) == 2*sha256.Size && strings.Trim(s, "0123456789abcdef") == ""
}
