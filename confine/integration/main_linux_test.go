package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
)

func TestMain(m *testing.M) {
	faultShim()
	jailtest.RunMain(m, map[string]func(args []string){
		launcherName: func([]string) { runLauncher() },
		foldProgram:  runFold,
		worldName:    runWorld,
		internetName: func(args []string) { runInternet(args[0]) },
	})
}

// TestOrdinaryUser runs all kernel tests again as somebody who is not root.
func TestOrdinaryUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("this is an ordinary user already")
	}
	if testing.Short() {
		t.Skip("-short")
	}
	jailtest.NeedsJail(t)
	home := filepath.Join(filepath.Dir(jailtest.TestBinary), "user")
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(home, jailtest.OrdinaryUser, jailtest.OrdinaryUser); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(jailtest.TestBinary, jailtest.TestBinary, "-test.run=^TestJail", "-test.timeout=5m")
	cmd.Args[0] = attacker.DropName
	cmd.Dir = home
	cmd.Env = append(os.Environ(), "MCPJAIL_TEST_BINARY="+jailtest.TestBinary, "TMPDIR="+home, "HOME="+home)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("as user %d: %v\n%s", jailtest.OrdinaryUser, err, out)
	} else {
		t.Logf("as user %d: %s", jailtest.OrdinaryUser, out)
	}
}
