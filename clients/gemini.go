package clients

func gemini() Client {
	shape := standard().in("cwd")
	shape.URL = []string{"url", "httpUrl"}
	return Client{
		Name: "gemini", Title: "Gemini CLI", Aliases: []string{"gemini-cli"},
		Hello: []string{"gemini-cli*"},
		Places: withLine([]string{"mcp", "serverCommand"},
			everywhere(User, "~/.gemini/settings.json", JSONC, tables("mcpServers")).moved("GEMINI_CLI_HOME", ".gemini/settings.json"),
			everywhere(Project, ".gemini/settings.json", JSONC, tables("mcpServers")),
			Place{
				Moves: []Move{{"GEMINI_CLI_SYSTEM_SETTINGS_PATH", "$GEMINI_CLI_SYSTEM_SETTINGS_PATH"}},
				Scope: System, Format: JSONC, Tables: tables("mcpServers"),
				Linux:   "/etc/gemini-cli/settings.json",
				MacOS:   "/Library/Application Support/GeminiCli/settings.json",
				Windows: `%ProgramData%\gemini-cli\settings.json`,
			},
		),
		Brings: []Brings{geminiExtensions(".gemini", "GEMINI_CLI_HOME", ".gemini/", "gemini-extension.json")},
		Blind: []Blind{
			{Place: Place{Scope: System, Linux: "/etc/gemini-cli/system-defaults.json", MacOS: "/Library/Application Support/GeminiCli/system-defaults.json", Windows: `%ProgramData%\gemini-cli\system-defaults.json`}, Word: `"mcp`, Why: whyRemote},
			unread(User, "~/.gemini/agents/*.md", "mcp", whyAgent),
			unread(Project, ".gemini/agents/*.md", "mcp", whyAgent),
		},
		Shared: dotEnv(".gemini"),
		Shapes: []Shape{shape},
		Forms:  []Form{named(FromEnv, "${", "}"), named(FromEnv, "$", "")},
		Dir:    DirProject,
		Reload: "Start a new session. `gemini mcp list` starts every server and says which answered.",
	}
}
