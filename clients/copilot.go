package clients

func copilot() Client {
	user := everywhere(User, "~/.copilot/mcp-config.json", JSONC, tables("mcpServers"))
	user.Moves = []Move{{"COPILOT_HOME", "$COPILOT_HOME/mcp-config.json"}}
	project := everywhere(Project, ".mcp.json", JSONC, tables("mcpServers"))
	project.Bare = true
	github := everywhere(Project, ".github/mcp.json", JSONC, tables("mcpServers"))
	github.Bare = true
	shape := standard()
	shape.Cwd = "cwd"
	return Client{
		Name: "copilot", Title: "GitHub Copilot CLI", Aliases: []string{"copilot-cli", "github-copilot"},
		Hello:  []string{"github-copilot-developer", "copilot*"},
		Places: []Place{user, project, github},
		Brings: []Brings{copilotPlugins()},
		Blind: []Blind{
			unread(User, "~/.copilot/installed-plugins/**/.mcp.json", "", whyFolder),
			unread(User, "~/.copilot/agents/*.md", "mcp-servers", whyAgent),
			unread(Project, ".github/agents/*.md", "mcp-servers", whyAgent),
		},
		Shapes: []Shape{shape},
		Forms:  []Form{named(FromEnv, "${", "}"), named(FromEnv, "$", "")},
		Dir:    DirProject,
		Reload: "Start a new session.",
	}
}
