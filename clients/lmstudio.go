package clients

func lmStudio() Client {
	return Client{
		Name: "lm-studio", Title: "LM Studio", Aliases: []string{"lmstudio"},
		Hello:  []string{"lmstudio*", "lm-studio*"},
		Places: []Place{everywhere(User, "~/.lmstudio/mcp.json", JSON, tables("mcpServers")), everywhere(User, "~/.cache/lm-studio/mcp.json", JSON, tables("mcpServers")).called("older versions")},
		Shapes: []Shape{standard()},
		Dir:    DirUnknown,
		Reload: "Save the file in LM Studio (Program → Install → Edit mcp.json), or switch the server off and on.",
	}
}
