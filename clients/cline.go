package clients

func cline() Client {
	const file = "cline_mcp_settings.json"
	user := everywhere(User, "~/.cline/data/settings/"+file, JSON, tables("mcpServers"))
	user.Moves = []Move{
		{"CLINE_MCP_SETTINGS_PATH", "$CLINE_MCP_SETTINGS_PATH"},
		{"CLINE_DIR", "$CLINE_DIR/data/settings/" + file},
	}
	nested := standardOff().in("cwd")
	nested.Within = "transport"
	return Client{
		Name: "cline", Title: "Cline",
		Hello:  []string{"Cline"},
		Places: append([]Place{user}, inEditors("before 2026", "saoudrizwan.claude-dev/settings/"+file)...),
		Shapes: []Shape{standardOff().in("cwd"), nested},
		Forms:  []Form{named(FromEnv, "${env:", "}")},
		Dir:    DirProject,
		Reload: "The extension starts the servers anew when the file is saved. With the command line, start a new session.",
	}
}
