package clients

func kiro() Client {
	agents := everywhere(User, "~/.kiro/agents/*.json", JSON, tables("mcpServers"))
	agents.Label, agents.Note = "agents", "Of the command line; not verified."
	own := everywhere(Project, ".kiro/agents/*.json", JSON, tables("mcpServers"))
	own.Label = "agents"
	return Client{
		Name: "kiro", Title: "Kiro", Aliases: []string{"kiro-cli"},
		Hello: []string{"kiro*", "Q DEV CLI"},
		Basis: "its documentation; not tried",
		Places: []Place{
			everywhere(User, "~/.kiro/settings/mcp.json", JSON, append(tables("mcpServers"), Table{Path: []string{"powers", "mcpServers"}})),
			everywhere(Project, ".kiro/settings/mcp.json", JSON, tables("mcpServers")),
			agents, own,
		},
		Lookup: Lookup{Read: "its documentation (“MCP server loading priority”)", Names: OneCounts, Order: "agent, project, user"},
		Blind:  []Blind{unread(User, "~/.kiro/powers/installed/*/mcp.json", "command", "a power brings servers of its own")},
		Shapes: []Shape{standardOff()},
		Forms:  []Form{named(FromEnv, "${", "}")},
		Dir:    DirProject,
		Hands:  "its whole environment",
		Reload: "Kiro reads the file again when it is saved.",
		Quirks: []string{
			"The servers of powers are at `powers`, `mcpServers` of the user's file.",
			"An entry of the project replaces that of the user with the same name.",
			"`${NAME}` is replaced for names that the user has approved.",
		},
	}
}
