package commands

import (
	"os"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestMain runs the tests, or the supervisor of a jail or mcp-jail-cli, which are the test
// binary, too.
func TestMain(m *testing.M) {
	confine.RunSupervisor()
	testkit.Programs{commandsName: commandsMain}.Dispatch()
	os.Exit(m.Run())
}

var must = testkit.Must
