package diagnostics

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	"github.com/mcp-jail/mcp-jail/policy"
)

// Digest names a profile by its content, so that two sessions can be told to
// have run under the same one: "sha256:" and 64 hexadecimal digits, or "" for no
// profile. The values of variables do not enter it, for a short one could be
// guessed from it.
func Digest(p *policy.Profile) string {
	if p == nil {
		return ""
	}
	q := *p
	q.Env = slices.Clone(p.Env)
	for i := range q.Env {
		q.Env[i].Value = ""
	}
	data, err := json.Marshal(q)
	if err != nil { // a Profile is plain data
		return ""
	}
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}
