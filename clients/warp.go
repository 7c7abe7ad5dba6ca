package clients

func warp() Client {
	return Client{
		Name: "warp", Title: "Warp",
		Hello:  []string{"warp*"},
		Places: []Place{everywhere(User, "~/.warp/.mcp.json", JSON, tables("mcpServers")).bare(), everywhere(Project, ".warp/.mcp.json", JSON, tables("mcpServers")).bare()},
		Shapes: []Shape{standard().in("working_directory")},
		Dir:    DirUnknown,
		Reload: "Stop and start the server on the page of MCP servers in Warp's settings.",
	}
}
