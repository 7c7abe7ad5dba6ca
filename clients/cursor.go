package clients

func cursor() Client {
	shape := standard()
	shape.EnvFile = "envFile"
	return Client{
		Name: "cursor", Title: "Cursor", Aliases: []string{"cursor-agent"},
		Hello: []string{"cursor-vscode", "cursor*"},
		Places: []Place{
			everywhere(User, "~/.cursor/mcp.json", JSONC, tables("mcpServers")),
			everywhere(Project, ".cursor/mcp.json", JSONC, tables("mcpServers")),
		},
		Brings: cursorPlugins(),
		Blind:  append(coded("~/.cursor", "~/.cursor-server"), unread(User, "~/.cursor/plugins/**/mcp.json", "", whyFolder), unread(User, "~/.cursor/plugins/**/.mcp.json", "", whyFolder)),
		Shapes: []Shape{shape},
		Forms:  []Form{named(FromEnv, "${env:", "}"), fixed(Workspace, "${workspaceFolder}"), fixed(Home, "${userHome}")},
		Dir:    DirUnknown,
		Reload: "Switch the server off and on under Settings → Tools & MCP, or start Cursor again.",
	}
}
