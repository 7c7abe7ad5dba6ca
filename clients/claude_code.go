package clients

func claudeCode() Client {
	user := everywhere(User, "~/.claude.json", JSON, []Table{
		{Path: []string{"mcpServers"}},
		{Path: []string{"projects", Any, "mcpServers"}},
	})
	user = user.moved("CLAUDE_CONFIG_DIR", ".claude.json")
	former := user
	former.Label = "former place"
	former.Linux, former.MacOS, former.Windows = "~/.claude/.config.json", "~/.claude/.config.json", "~/.claude/.config.json"
	former.Moves = []Move{{"CLAUDE_CONFIG_DIR", "$CLAUDE_CONFIG_DIR/.config.json"}}
	shape := standard()
	shape.Helpers = []string{"headersHelper"}
	project := above(everywhere(Project, ".mcp.json", JSON, tables("mcpServers")), InAll)
	settings := everywhere(User, "~/.claude/settings.json", JSON, nil).moved("CLAUDE_CONFIG_DIR", "settings.json")
	return Client{
		Name: "claude-code", Title: "Claude Code", Aliases: []string{"claude-cli"},
		Hello:  []string{"claude-code"},
		Brings: []Brings{claudePlugins()},
		Blind: []Blind{
			unread(User, "~/.claude/agents/**/*.md", "mcpServers", whyAgent),
			unread(Project, ".claude/agents/**/*.md", "mcpServers", whyAgent),
		},
		Shared: settingsEnv(settings, above(everywhere(Project, ".claude/settings.json", JSON, nil), InRepository),
			above(everywhere(Project, ".claude/settings.local.json", JSON, nil), InRepository)),
		Places: []Place{user, former, project, {
			Scope: Managed, Format: JSON, Tables: tables("mcpServers"),
			Linux:   "/etc/claude-code/managed-mcp.json",
			MacOS:   "/Library/Application Support/ClaudeCode/managed-mcp.json",
			Windows: `%ProgramFiles%\ClaudeCode\managed-mcp.json`,
		}},
		Shapes: []Shape{shape},
		ByType: true,
		Forms:  []Form{named(FromEnv, "${", "}")},
		Dir:    DirProject,
		Reload: "Start a new session. `claude mcp list` starts every server and says which answered.",
	}
}
