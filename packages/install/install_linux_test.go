package install

import (
	"os"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/confine"
)

func TestMain(m *testing.M) {
	confine.RunSupervisor()
	os.Exit(m.Run())
}

func TestFetchTry(t *testing.T) {
	dir := t.TempDir()
	begin := time.Now()
	f, err := fetchNPM(t.Context(), dir, []string{"@modelcontextprotocol/server-memory"}, os.Stderr)
	t.Log(time.Since(begin), err)
	if err == nil {
		t.Log(f.dir, f.refused)
	}
}
