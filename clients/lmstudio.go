package clients

func lmStudio() Client {
	older := everywhere(User, "~/.cache/lm-studio/mcp.json", JSON, tables("mcpServers"))
	older.Label = "older versions"
	return Client{
		Name: "lm-studio", Title: "LM Studio", Aliases: []string{"lmstudio"},
		Hello:  []string{"lmstudio*", "lm-studio*"},
		Basis:  "its documentation; not tried",
		Places: []Place{everywhere(User, "~/.lmstudio/mcp.json", JSON, tables("mcpServers")), older},
		Lookup: Lookup{Read: "its documentation only", Names: OneFile},
		Shapes: []Shape{standard()},
		Dir:    DirUnknown,
		Hands:  "the environment of the application",
		Reload: "Save the file in LM Studio (Program → Install → Edit mcp.json), or switch the server off and on.",
		Quirks: []string{"It has Cursor's notation."},
	}
}
