package confine_test

import (
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/egress/tlsworker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
)

// TestMain lets the launchers of the tests start this binary as the supervisor of a jail, and as
// the server.
func TestMain(m *testing.M) {
	jailtest.Main(m, map[string]func(args []string){tlsworker.Name: runProbes})
}
