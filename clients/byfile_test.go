package clients

import "testing"

// TestByFile tests which client a path belongs to.
func TestByFile(t *testing.T) {
	linux := Host{OS: "linux", Home: "/home/me", Project: "/home/me/app"}
	windows := Host{OS: "windows", Home: `C:\Users\me`}
	for _, c := range []struct {
		host         Host
		file         string
		client       string
		scope, label string
	}{
		{linux, "/home/me/.claude.json", "claude-code", "user", ""},
		{linux, "/home/me/app/.mcp.json", "claude-code", "project", ""},
		{linux, "/srv/other/.mcp.json", "claude-code", "project", ""},
		{linux, "/srv/other/.vscode/mcp.json", "vscode", "project", ""},
		{linux, "/home/me/.config/Code/User/profiles/-5f/mcp.json", "vscode", "user", "profiles"},
		{linux, "/home/me/.copilot/mcp-config.json", "copilot", "user", ""},
		{linux, "/home/me/app/.kiro/agents/x.json", "kiro", "project", "agents"},
		{linux, "/x/.kiro/agents/x.json", "kiro", "project", "agents"},
		{linux, "/x/.kiro/agents/a/x.json", "", "", ""},
		{linux, "/home/me/.continue/mcpServers/a.yaml", "continue", "user", "blocks"},
		{linux, "/home/me/.continue/mcpServers/b/c/a.yml", "continue", "user", "blocks"},
		{linux, "/home/me/app/.continue/mcpServers/b/a.json", "continue", "project", "files of other clients"},
		{linux, "/x/.continue/mcpServers/b/c/a.yaml", "continue", "project", "blocks"},
		{linux, "/x/a.continue/mcpServers/a.yaml", "", "", ""},
		{linux, "/x/.continue/mcpServers/a.md", "", "", ""},
		{linux, "/home/you/.claude.json", "", "", ""},
		{linux, "/x/mcp.json", "", "", ""},
		{linux, ".mcp.json", "", "", ""},
		{linux, "", "", "", ""},
		{windows, `c:\users\ME\.cursor\mcp.json`, "cursor", "user", ""},
		{windows, `D:\a\.Cursor\MCP.json`, "cursor", "project", ""},
		{windows, `C:\Users\me\AppData\Local\Packages\Claude_x9\LocalCache\Roaming\Claude\claude_desktop_config.json`, "claude-desktop", "user", "Microsoft Store"},
	} {
		client, place, ok := ByFile(c.file, c.host)
		if client.Name != c.client || string(place.Scope) != c.scope || place.Label != c.label || ok != (c.client != "") {
			t.Errorf("%s: %q %s %q, want %q %s %q", c.file, client.Name, place.Scope, place.Label, c.client, c.scope, c.label)
		}
	}
}
