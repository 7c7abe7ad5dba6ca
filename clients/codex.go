package clients

// codex is OpenAI's command line agent, whose file its applications share.
func codex() Client {
	system := Place{Scope: System, Linux: "/etc/codex/config.toml", MacOS: "/etc/codex/config.toml", Windows: `%ProgramData%\OpenAI\Codex\config.toml`, Format: TOML, Tables: tables("mcp_servers")}
	shape := standard().in("cwd")
	shape.Names, shape.On, shape.Elsewhere = "env_vars", "enabled", "environment_id"
	return Client{
		Name: "codex", Title: "Codex", Aliases: []string{"codex-cli", "openai-codex"},
		Hello: []string{"codex-mcp-client", "codex*"},
		Places: []Place{
			everywhere(User, "~/.codex/config.toml", TOML, tables("mcp_servers")).moved("CODEX_HOME", "config.toml"),
			above(everywhere(Project, ".codex/config.toml", TOML, tables("mcp_servers")), InRepository),
			system,
		},
		Mixed:  true,
		Brings: []Brings{codexPlugins()},
		Blind: []Blind{
			{Place: Place{Scope: Managed, Linux: "/etc/codex/managed_config.toml", MacOS: "/etc/codex/managed_config.toml"}, Word: "mcp_servers", Why: whyRemote},
			unread(User, "~/.codex/*.config.toml", "mcp_servers", "it counts with --profile only"),
			unread(User, "~/.codex/plugins/**/.mcp.json", "", whyFolder),
			movedBy("CODEX_HOME", "agents/**/*.toml", unread(User, "~/.codex/agents/**/*.toml", "mcp_servers", whyAgent)),
			{Place: above(everywhere(Project, ".codex/agents/**/*.toml", "", nil), InRepository), Word: "mcp_servers", Why: whyAgent},
			movedBy("CODEX_HOME", "config.toml", unread(User, "~/.codex/config.toml", "config_file", whyAgentFile)),
			{Place: above(everywhere(Project, ".codex/config.toml", "", nil), InRepository), Word: "config_file", Why: whyAgentFile},
			movedBy("CODEX_HOME", "config.toml", unread(User, "~/.codex/config.toml", "project_root_markers", "its own servers are read, and files above a repository, which its `project_root_markers` adds, are not")),
		},
		Shapes: []Shape{shape},
		Dir:    DirProject,
		Reload: "Start a new session.",
	}
}
