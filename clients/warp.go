package clients

func warp() Client {
	user := everywhere(User, "~/.warp/.mcp.json", JSON, tables("mcpServers"))
	project := everywhere(Project, ".warp/.mcp.json", JSON, tables("mcpServers"))
	user.Bare, project.Bare = true, true
	shape := standard()
	shape.Cwd = "working_directory"
	return Client{
		Name: "warp", Title: "Warp",
		Hello:  []string{"warp*"},
		Places: []Place{user, project},
		Shapes: []Shape{shape},
		Dir:    DirUnknown,
		Reload: "Stop and start the server on the page of MCP servers in Warp's settings.",
	}
}
