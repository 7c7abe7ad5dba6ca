package clients

func cline() Client {
	const file = "cline_mcp_settings.json"
	user := everywhere(User, "~/.cline/data/settings/"+file, JSON, tables("mcpServers"))
	user.Moves = []Move{
		{"CLINE_MCP_SETTINGS_PATH", "$CLINE_MCP_SETTINGS_PATH"},
		{"CLINE_DIR", "$CLINE_DIR/data/settings/" + file},
	}
	places := []Place{user}
	for _, e := range editors() {
		p := e.place("globalStorage/saoudrizwan.claude-dev/settings/"+file, JSON, tables("mcpServers"))
		p.Label = joinLabels("before 2026", e.label)
		places = append(places, p)
	}
	nested := standardOff().in("cwd")
	nested.Within = "transport"
	return Client{
		Name: "cline", Title: "Cline",
		Hello:  []string{"Cline"},
		Places: places,
		Shapes: []Shape{standardOff().in("cwd"), nested},
		Forms:  []Form{named(FromEnv, "${env:", "}")},
		Dir:    DirProject,
		Reload: "The extension starts the servers anew when the file is saved. With the command line, start a new session.",
	}
}
