package session

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestSocketIsNoProgram: a socket has execute bits, and no line that executes it would help.
func TestSocketIsNoProgram(t *testing.T) {
	dir := t.TempDir()
	socket, program, plain := filepath.Join(dir, "bus"), filepath.Join(dir, "program"), filepath.Join(dir, "plain")
	l, err := net.Listen("unix", socket)
	testkit.Must(t, err)
	defer l.Close()
	for path, mode := range map[string]os.FileMode{program: 0o755, plain: 0o644} {
		testkit.Must(t, os.WriteFile(path, nil, mode))
	}
	testkit.Must(t, os.Chmod(socket, 0o755))
	for path, want := range map[string]bool{socket: false, program: true, plain: false, dir: true} {
		if got := isExecutable(path); got != want {
			t.Errorf("%s: %v", filepath.Base(path), got)
		}
	}
}
