package clients

func copilot() Client {
	return Client{
		Name: "copilot", Title: "GitHub Copilot CLI", Aliases: []string{"copilot-cli", "github-copilot"},
		Hello: []string{"github-copilot-developer", "copilot*"},
		Places: []Place{
			everywhere(User, "~/.copilot/mcp-config.json", JSONC, tables("mcpServers")).moved("COPILOT_HOME", "mcp-config.json"),
			everywhere(Project, ".mcp.json", JSONC, tables("mcpServers")).bare(), everywhere(Project, ".github/mcp.json", JSONC, tables("mcpServers")).bare(),
		},
		Brings: []Brings{copilotPlugins()},
		Blind: []Blind{
			unread(User, "~/.copilot/installed-plugins/**/.mcp.json", "", whyFolder),
			unread(User, "~/.copilot/agents/*.md", "mcp-servers", whyAgent),
			unread(Project, ".github/agents/*.md", "mcp-servers", whyAgent),
		},
		Shapes: []Shape{standard().in("cwd")},
		Forms:  []Form{named(FromEnv, "${", "}"), named(FromEnv, "$", "")},
		Dir:    DirProject,
		Reload: "Start a new session.",
	}
}
