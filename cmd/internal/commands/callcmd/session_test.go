package callcmd

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestTake tests that a message does not announce lines of the server that are not shown.
func TestTake(t *testing.T) {
	t.Setenv("COLUMNS", "1000")
	const own = `server "s" writes lines that are not MCP messages; they are shown here instead (mcp-jail help stdout):`
	for verbose, want := range map[bool]string{
		false: ownPrefix + `server "s" writes lines that are not MCP messages; --verbose shows them (mcp-jail help stdout)` + "\n",
		true:  ownPrefix + own + "\n| rubbish\n",
	} {
		file, err := os.Create(filepath.Join(t.TempDir(), "err"))
		testkit.Must(t, err)
		defer file.Close()
		s := &clientSession{console: terminal.New(nil, nil, file), verbose: verbose}
		s.take(ownPrefix+own, own, true)
		s.take("rubbish", "rubbish", false)
		if got, _ := os.ReadFile(file.Name()); string(got) != want {
			t.Errorf("verbose %t: %q, want %q", verbose, got, want)
		}
	}
}
