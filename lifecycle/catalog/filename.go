package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

const (
	suffix  = ".json"
	maxName = 120 // bytes of an encoded server name
)

// encodeName returns a file name for a server's name; different names get different file
// names. Letters, digits, '-' and '_' stay, other bytes become %XX, and a long name is cut
// and gets a digest. The result has no dot.
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

// splitName returns the encoded server name of a file name. ok is false for names that
// fileName does not return.
func splitName(name string) (server string, ok bool) {
	rest, is := strings.CutSuffix(name, suffix)
	server, key, dotted := strings.Cut(rest, ".")
	return server, is && dotted && isKey(key) && len(server) <= maxName
}

func isKey(s string) bool {
	return len(s) == 2*sha256.Size && strings.Trim(s, "0123456789abcdef") == ""
}
