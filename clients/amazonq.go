package clients

// amazonQ is the command line of Amazon Q, which Kiro's replaces.
func amazonQ() Client {
	return Client{
		Name: "amazon-q", Title: "Amazon Q Developer CLI", Aliases: []string{"amazonq", "q"},
		Hello: []string{"Q-DEV-CLI"},
		Places: []Place{
			everywhere(User, "~/.aws/amazonq/mcp.json", JSON, tables("mcpServers")),
			everywhere(Project, ".amazonq/mcp.json", JSON, tables("mcpServers")),
			everywhere(User, "~/.aws/amazonq/cli-agents/*.json", JSON, tables("mcpServers")).called("agents"),
			everywhere(Project, ".amazonq/cli-agents/*.json", JSON, tables("mcpServers")).called("agents"),
		},
		Shapes:  []Shape{standardOff()},
		Forms:   []Form{named(FromEnv, "${env:", "}"), named(FromEnv, "$", "")},
		Dir:     DirProject,
		OnlyCmd: true,
		Reload:  "Start a new session.",
	}
}
