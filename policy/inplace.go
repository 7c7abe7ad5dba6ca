package policy

import (
	"crypto/sha256"
	"encoding/hex"
)

// shortHash tells texts apart, also those that somebody chose to be alike.
func ShortHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}
