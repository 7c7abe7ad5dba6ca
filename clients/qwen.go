package clients

func qwen() Client {
	shape := standard().in("cwd")
	shape.URL = []string{"url", "httpUrl"}
	user := everywhere(User, "~/.qwen/settings.json", JSONC, tables("mcpServers")).moved("QWEN_HOME", "settings.json")
	project := everywhere(Project, ".qwen/settings.json", JSONC, tables("mcpServers"))
	portable := everywhere(Project, ".mcp.json", JSONC, tables("mcpServers")).called("portable")
	return Client{
		Name: "qwen", Title: "Qwen Code",
		Hello: []string{"qwen-code*", "qwen-cli*"},
		Places: append(withLine([]string{"mcp", "serverCommand"}, user, project, Place{
			Scope: System, Format: JSONC, Tables: tables("mcpServers"),
			Moves:   []Move{{"QWEN_CODE_SYSTEM_SETTINGS_PATH", "$QWEN_CODE_SYSTEM_SETTINGS_PATH"}},
			Linux:   "/etc/qwen-code/settings.json",
			MacOS:   "/Library/Application Support/QwenCode/settings.json",
			Windows: `%ProgramData%\qwen-code\settings.json`,
		}), portable),
		Brings: []Brings{geminiExtensions(".qwen", "QWEN_HOME", "", "qwen-extension.json", ".mcp.json")},
		Blind: []Blind{
			{Place: Place{Scope: System, Linux: "/etc/qwen-code/system-defaults.json", MacOS: "/Library/Application Support/QwenCode/system-defaults.json", Windows: `%ProgramData%\qwen-code\system-defaults.json`}, Word: `"mcp`, Why: whyRemote},
			movedBy("QWEN_HOME", "agents/**/*.md", unread(User, "~/.qwen/agents/**/*.md", "mcpServers", whyAgent)),
			unread(Project, ".qwen/agents/**/*.md", "mcpServers", whyAgent),
		},
		Shared: append(dotEnv(".qwen"), settingsEnv(user, project)...),
		Shapes: []Shape{shape},
		Forms:  []Form{named(FromEnv, "${", "}"), named(FromEnv, "$", "")},
		Dir:    DirProject,
		Reload: "Start a new session. `qwen mcp list` starts every server and says which answered.",
	}
}
