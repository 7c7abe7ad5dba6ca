package wine

import (
	"io"
	"os"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// remover is the argv[0] under which the test binary waits for the end of the tests and removes
// what they have made, so that it is also removed when they are killed.
const remover = "wine-remover"

func TestMain(m *testing.M) {
	testkit.Programs{remover: func() {
		io.Copy(io.Discard, os.Stdin)
		if err := remove(os.Getenv(dirVariable), os.Getuid() == 0); err != nil {
			os.Stderr.WriteString(err.Error() + "\n")
			os.Exit(1)
		}
	}}.Dispatch()
	status := m.Run()
	if err := theHost.end(); err != nil {
		os.Stderr.WriteString("what the tests have started or made is still there: " + err.Error() + "\n")
		status = 1
	}
	os.Exit(status)
}
