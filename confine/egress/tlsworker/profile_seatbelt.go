//go:build darwin || (linux && seatbelt)

package tlsworker

import (
	"crypto/rand"
	"encoding/hex"

	"github.com/mcp-jail/mcp-jail/confine/internal/seatbelt"
	"github.com/mcp-jail/mcp-jail/confine/internal/selftest"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// compileText returns the rules under which sandbox-exec starts the program.
var compileText = func(program string) (seatbelt.Text, error) {
	tag := make([]byte, 4)
	rand.Read(tag)
	return seatbelt.CompileTLS("mcpj-"+hex.EncodeToString(tag), program, unknownOperations())
}

// unknownOperations returns the optional operations that this system does not know, by its self-test.
func unknownOperations() []string {
	host, err := hostfs.LocalHost()
	if err != nil {
		return nil
	}
	return selftest.Cached(host.CacheDir).Proof.Without
}
