package clients

func junie() Client {
	return Client{
		Name: "junie", Title: "Junie", Aliases: []string{"jetbrains-junie"},
		Hello: []string{"junie*"},
		Places: []Place{
			everywhere(User, "~/.junie/mcp/mcp.json", JSON, tables("mcpServers")),
			everywhere(Project, ".junie/mcp/mcp.json", JSON, tables("mcpServers")),
		},
		Shapes: []Shape{standardOff()},
		Dir:    DirUnknown,
		Reload: "Switch the server off and on under Settings → Tools → Junie → MCP Settings, or start the IDE again.",
	}
}
