package integration

import (
	"os"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
)

func TestMain(m *testing.M) {
	standIns()
	if len(os.Args) > 0 && strings.HasSuffix(os.Args[0], ".test") {
		onlySeatbelt()
	}
	installFault()
	jailtest.Main(m, map[string]func(args []string){
		launcherName: func([]string) { runLauncher() },
		foldProgram:  runFold,
		networkName:  runNetwork,
		internetName: func(args []string) { runInternet(args[0]) },
	})
}
