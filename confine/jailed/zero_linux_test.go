package jailed_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/jailed"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestZeroPolicy tests that the zero Policy is the default policy: the program reads and writes its
// workspace, and nothing else of the user's, and has the default limits, no network and no variable.
func TestZeroPolicy(t *testing.T) {
	dir := testkit.Plant(t, "in/IN", "in/.env", "OUT")
	t.Setenv("XDG_STATE_HOME", dir+"/state")
	t.Setenv("TOKEN", "secret")
	cmd := jailed.Command(t.Context(), jailed.Policy{}, "sh", "-c", "cat IN .env ../OUT; echo x >made; ulimit -n; echo $TOKEN; cat /proc/net/dev | grep -c :")
	cmd.Dir = filepath.Join(dir, "in")
	testkit.Equal(t, "", string(testkit.Get(cmd.Output())(t)), "IN4096\n\n1\n")
	testkit.Works(t, "", testkit.ErrorOf(os.Stat(dir+"/in/made")))
}
