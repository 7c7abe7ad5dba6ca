package clients

func junie() Client {
	return Client{
		Name: "junie", Title: "Junie", Aliases: []string{"jetbrains-junie"},
		Hello: []string{"junie*"},
		Basis: "its documentation; not tried",
		Places: []Place{
			everywhere(User, "~/.junie/mcp/mcp.json", JSON, tables("mcpServers")),
			everywhere(Project, ".junie/mcp/mcp.json", JSON, tables("mcpServers")),
		},
		Lookup: Lookup{Read: "its documentation only", Names: MergingUnknown},
		Shapes: []Shape{standardOff()},
		Dir:    DirUnknown,
		Hands:  "the environment of the IDE",
		Reload: "Switch the server off and on under Settings → Tools → Junie → MCP Settings, or start the IDE again.",
		Quirks: []string{
			"The servers of JetBrains AI Assistant are in the settings of the IDE, and not in these files. " +
				"They are changed on its settings page (“as JSON”), by hand.",
		},
	}
}
