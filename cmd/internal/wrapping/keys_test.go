package wrapping

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestKeysNotRead: which keys that a client does not read are named, in which format ever.
func TestKeysNotRead(t *testing.T) {
	const server = `{"m": {"command": "npx", "args": ["-y", "x"]}}`
	for _, c := range []struct{ file, text, want string }{
		{".cursor/mcp.json", `{"mcpServers": ` + server + `}`, ""},
		{".cursor/mcp.json", `{"servers": ` + server + `}`, "(servers or mcpServers), and Cursor does not read them there; it reads mcpServers"},
		{".cursor/mcp.json", `{"servers": ` + server + `, "mcpServers": ` + server + `}`, ""},
		{".cursor/mcp.json", `{"context_servers": ` + server + `}`, "Cursor does not read them there; it reads mcpServers"},
		{".cursor/mcp.json", `{"servers": {"a": {"port": 1}}}`, ""},
		{".cursor/mcp.json", `{"mcp": {"servers": ` + server + `}}`, "(mcp or mcp.servers), and Cursor"},
		{".cursor/mcp.json", `{"mcp_servers": ` + server + `}`, "where Codex has them (mcp_servers)"},
		{".cursor/mcp.json", `{"mcpservers": ` + server + `}`, "a client that ignores the case of letters"},
		{".claude.json", `{"numStartups": 3, "m": {"command": "x"}}`, ""},
		{".claude.json", `{"statusLine": {"type": "command", "command": "x"}}`, ""},
		{".claude.json", `{"projects": {}, "mcpServers": {}}`, ""},
		{".codex/config.toml", "[mcpServers.m]\ncommand = \"x\"\n", "(mcpServers), and Codex does not read them there; it reads mcp_servers"},
		{".codex/config.toml", "model = \"x\"\n", ""},
		{".config/goose/config.yaml", "mcpServers:\n  m:\n    command: x\n", "(mcpServers), and Goose does not read them there"},
	} {
		h := newHost(t)
		path := filepath.Join(h.Home, c.file)
		write(t, path, c.text)
		for _, sel := range []Selection{{Files: []string{path}}, {}} {
			files, err := Find(h, sel)
			must(t, err)
			got := ""
			if len(files) > 0 && files[0].Err != nil {
				got = files[0].Err.Error()
			}
			if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("%s %s: %q, want %q", c.file, c.text, got, c.want)
			}
		}
	}
}
