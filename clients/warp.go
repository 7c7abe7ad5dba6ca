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
		Basis:  "its documentation; not tried",
		Places: []Place{user, project},
		Lookup: Lookup{Read: "its documentation only", Names: MergingUnknown},
		Shapes: []Shape{shape},
		Dir:    DirUnknown,
		Hands:  "the environment of the terminal",
		Reload: "Stop and start the server on the page of MCP servers in Warp's settings.",
		Quirks: []string{
			"The file is a table of servers, or has one called `mcpServers`.",
			"It also shows the servers of other clients' files. `start_on_launch` says which of them start with it.",
		},
	}
}
