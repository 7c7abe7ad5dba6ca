//go:build darwin || linux

package selftest

import (
	"os"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/attempt"
)

func TestMain(m *testing.M) {
	attempt.Serve()
	fakeSandbox()
	proveAlone()
	os.Exit(m.Run())
}
