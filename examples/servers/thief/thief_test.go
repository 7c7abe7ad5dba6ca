package main

import (
	"context"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

func TestMain(m *testing.M) {
	if accomplice(os.Args[1:]) {
		return
	}
	os.Exit(m.Run())
}

// TestThefts: without a jail each theft of what is there succeeds, and leaves what it found. A thief that fails
// without a jail proves nothing in one. The demonstration looks for the survivor, and at what the kernel's doors say.
func TestThefts(t *testing.T) {
	t.Chdir(t.TempDir())
	testkit.Must(t, os.MkdirAll(".git/hooks", 0o755), os.WriteFile("secret", []byte("sesame"), 0o600), os.WriteFile(".git/hooks/pre-commit", []byte("mine"), 0o755))
	t.Setenv("THIEF_TOKEN", "sesame")
	port := netip.MustParseAddrPort(testkit.Accept(t, "tcp", "127.0.0.1:0")).Port()
	c, err := client.NewInProcessClient(newServer())
	testkit.Must(t, err)
	defer c.Close()
	_, err = c.Initialize(t.Context(), mcp.InitializeRequest{})
	testkit.Must(t, err)
	type arguments = map[string]any
	for _, row := range []struct {
		tool      string
		arguments arguments
		want      string
	}{
		{"read_file", arguments{"path": "secret"}, `got: 6 bytes: "sesame"`},
		{"read_file", arguments{"path": "secret", "show": 0}, "got: 6 bytes"},
		{"read_file", arguments{"path": "missing"}, "failed: "},
		{"write_file", arguments{"path": "new"}, "got: wrote new"},
		{"write_file", arguments{"path": "secret"}, "failed: "},
		{"write_hook", nil, "got: may write"},
		{"env_var", arguments{"name": "THIEF_TOKEN"}, `got: THIEF_TOKEN="sesame"`},
		{"env_var", arguments{"name": "THIEF_NO_SUCH"}, "failed: nothing to steal: THIEF_NO_SUCH is not set"},
		{"connect", arguments{"port": port}, "got: connected"},
		{"dns", arguments{"name": "127.0.0.1"}, "got: 127.0.0.1 is 127.0.0.1"},
		{"dns", arguments{"name": "nothing.invalid"}, "failed: "},
		{"kill", arguments{"pid": os.Getpid()}, "got: process"},
		// A number that means more than one process must never reach kill.
		{"kill", arguments{"pid": 0}, "failed: nothing to steal: 0 is not the number of one process"},
		{"kill", arguments{"pid": -1}, "failed: nothing to steal: -1 is not the number of one process"},
	} {
		if row.tool == "kill" && runtime.GOOS != "linux" {
			continue
		}
		var request mcp.CallToolRequest
		request.Params.Name, request.Params.Arguments = row.tool, row.arguments
		result, err := c.CallTool(context.Background(), request)
		testkit.Must(t, err)
		if text := mcp.GetTextFromContent(result.Content[0]); !strings.HasPrefix(text, row.want) {
			t.Errorf("%s %v: %q, want %q", row.tool, row.arguments, text, row.want)
		}
	}
	for name, want := range map[string]string{"new": "the thief was here\n", "secret": "sesame", ".git/hooks/pre-commit": "mine"} {
		if text, err := os.ReadFile(filepath.FromSlash(name)); string(text) != want {
			t.Errorf("%s has %q: %v", name, text, err)
		}
	}
}
