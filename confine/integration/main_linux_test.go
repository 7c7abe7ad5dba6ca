package integration

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
)

func TestMain(m *testing.M) {
	standIns()
	// Not as one of the programs below: the go command calls a test NAME.test, and testdata/test.sh test.
	if name := filepath.Base(os.Args[0]); name == "test" || strings.HasSuffix(name, ".test") {
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
