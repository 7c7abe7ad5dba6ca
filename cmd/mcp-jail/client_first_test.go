//go:build linux

package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	fixture "github.com/mcp-jail/mcp-jail/internal/testkit/registry"
)

// TestClientsFirstTry lets the commands of real clients list a server whose package npx would
// fetch, with mcp-jail in front and nothing installed: it is connected at the first try. On a busy
// machine a client may wait for too short a time: there are more first tries then, each in a
// world of its own. To Claude Code the server is added by the command in docs/getting-started.md.
func TestClientsFirstTry(t *testing.T) { // not beside other tests of this package: clients wait for 10 s only
	testkit.NeedsLong(t)
	const name = "@modelcontextprotocol/server-memory"
	for _, c := range realClients {
		var file, text string
		switch c.name {
		case "claude-code":
		case "codex":
			file, text = ".codex/config.toml", "[mcp_servers.memory]\ncommand = \"MCP-JAIL\"\nargs = [\"run\", \"--\", \"npx\", \"-y\", \""+name+"\"]\n"
		case "gemini":
			file, text = ".gemini/settings.json", `{"mcpServers": {"memory": {"command": "MCP-JAIL", "args": ["run", "--", "npx", "-y", "`+name+`"]}}}`
		default:
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			c.need(t)
			for begin, try := time.Now(), 1; try <= 3 || time.Since(begin) < testkit.Patience; try++ {
				w, _ := newShop(t, fixture.Stock{Packages: []fixture.Package{fixture.MCPServer{Name: name}.Package()}})
				program := w.mcpJail().Path
				if file != "" {
					w.plant(t, w.home, map[string]string{file: strings.Replace(text, "MCP-JAIL", program, 1)})
				} else {
					c.add(t, w, program)
				}
				said := c.run(t, w)
				if len(c.connected(said)) == 1 {
					t.Logf("connected in world %d", try)
					return
				}
				t.Logf("not connected in world %d:\n%s", try, said)
			}
			t.Error("no first try was connected")
		})
	}
}

// add runs the documented command that adds a server.
func (c realClient) add(t *testing.T, w *world, program string) {
	t.Helper()
	_, line, ok := strings.Cut(testkit.ReadFile(t, filepath.Join("..", "..", "docs", "getting-started.md")), "\nclaude mcp add ")
	line, _, closed := strings.Cut(line, "\n")
	if !ok || !closed {
		t.Fatal("docs/getting-started.md has no such command any more")
	}
	adding := c
	adding.command = []string{c.command[0], "mcp", "add"}
	adding.arguments = strings.Fields(strings.Replace(line, "-- mcp-jail ", "-- "+program+" ", 1))
	w.plant(t, w.work, map[string]string{".keep": ""})
	if out := adding.run(t, w); !strings.Contains(out, "memory") {
		t.Fatalf("claude mcp add: %s", out)
	}
}
