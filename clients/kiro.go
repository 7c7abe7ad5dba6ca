package clients

func kiro() Client {
	return Client{
		Name: "kiro", Title: "Kiro", Aliases: []string{"kiro-cli"},
		Hello: []string{"kiro*", "Q DEV CLI"},
		Places: []Place{
			everywhere(User, "~/.kiro/settings/mcp.json", JSON, append(tables("mcpServers"), Table{Path: []string{"powers", "mcpServers"}})),
			everywhere(Project, ".kiro/settings/mcp.json", JSON, tables("mcpServers")),
			everywhere(User, "~/.kiro/agents/*.json", JSON, tables("mcpServers")).called("agents"),
			everywhere(Project, ".kiro/agents/*.json", JSON, tables("mcpServers")).called("agents"),
		},
		Blind:  []Blind{unread(User, "~/.kiro/powers/installed/*/mcp.json", "command", "a power brings servers of its own")},
		Shapes: []Shape{standardOff()},
		Forms:  []Form{named(FromEnv, "${", "}")},
		Dir:    DirProject,
		Reload: "Kiro reads the file again when it is saved.",
	}
}
