package integration

import (
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
)

func TestMain(m *testing.M) {
	installFault()
	jailtest.Main(m, map[string]func(args []string){
		launcherName: func([]string) { runLauncher() },
		networkName:  runNetwork,
		internetName: func(args []string) { runInternet(args[0]) },
	})
}
