package clients

import "time"

// amazonQ is the command line of Amazon Q, which Kiro's replaces.
func amazonQ() Client {
	agents := everywhere(User, "~/.aws/amazonq/cli-agents/*.json", JSON, tables("mcpServers"))
	agents.Label = "agents"
	own := everywhere(Project, ".amazonq/cli-agents/*.json", JSON, tables("mcpServers"))
	own.Label = "agents"
	return Client{
		Name: "amazon-q", Title: "Amazon Q Developer CLI", Aliases: []string{"amazonq", "q"},
		Hello: []string{"Q-DEV-CLI"},
		Basis: "its source (custom_tool.rs, paths.rs); not tried",
		Places: []Place{
			everywhere(User, "~/.aws/amazonq/mcp.json", JSON, tables("mcpServers")),
			everywhere(Project, ".amazonq/mcp.json", JSON, tables("mcpServers")),
			agents, own,
		},
		Lookup:   Lookup{Read: "its last source (paths.rs, cli/agent/mod.rs)", Names: OneCounts, Order: "agent, project, user"},
		Shapes:   []Shape{standardOff()},
		Forms:    []Form{named(FromEnv, "${env:", "}"), named(FromEnv, "$", "")},
		Start:    Patience{120 * time.Second, "`timeout` in the entry, in milliseconds, for every request"},
		Dir:      DirProject,
		Hands:    "what `env` sets, and then its whole environment: a variable that it inherited wins",
		PathKept: true, OnlyCmd: true,
		Reload: "Start a new session.",
		Quirks: []string{
			"It is discontinued; Kiro's command line takes its place.",
			"`~` and `$NAME` are replaced in the command, not in the arguments. In mcp-jail the program is an argument: " +
				"mcp-jail replaces a `~/` there, and an entry whose program has a variable is left.",
		},
	}
}
