package confine

import (
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// golden compares with a file of testdata, or rewrites it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	testkit.Golden(t, name+".golden", got)
}
