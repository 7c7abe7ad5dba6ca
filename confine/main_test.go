package confine

import (
	"os"
	"testing"
)

// TestMain lets the launchers of the tests start this binary as the supervisor of a jail.
func TestMain(m *testing.M) {
	RunSupervisor()
	os.Exit(m.Run())
}
