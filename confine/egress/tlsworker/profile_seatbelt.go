//go:build darwin || (linux && seatbelt)

package tlsworker

import (
	"crypto/rand"
	"encoding/hex"

	"github.com/mcp-jail/mcp-jail/confine/internal/features"
	"github.com/mcp-jail/mcp-jail/confine/internal/seatbelt"
)

// compileText returns the rules under which sandbox-exec starts the program.
var compileText = func(program string) (seatbelt.Text, error) {
	tag := make([]byte, 4)
	rand.Read(tag)
	return seatbelt.CompileTLS("mcpj-"+hex.EncodeToString(tag), program, features.Detect().Proof.Without)
}
