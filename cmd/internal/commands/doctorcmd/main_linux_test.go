package doctorcmd

import (
	"os"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine"
)

// TestMain runs the tests, or the supervisor of a jail, which is the test binary, too.
func TestMain(m *testing.M) {
	confine.RunSupervisor()
	os.Exit(m.Run())
}
