package resolve

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy/config"
)

// layersIn gives a test its own system, user and project layers.
func layersIn(t *testing.T) (o config.LoadOptions, project string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "ws"), 0o755); err != nil {
		t.Fatal(err)
	}
	return config.LoadOptions{
		Workspace: filepath.Join(dir, "ws"), System: filepath.Join(dir, "system.toml"),
		User: filepath.Join(dir, "user.toml"), Trust: filepath.Join(dir, "state", "trust.toml"),
	}, filepath.Join(dir, "ws", config.ProjectFile)
}

func put(t *testing.T, name, text string) []byte {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return []byte(text)
}
