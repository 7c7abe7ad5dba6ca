package clients

func claudeDesktop() Client {
	store := Place{
		Scope: User, Label: "Microsoft Store", Format: JSON, Tables: tables("mcpServers"),
		Windows: `%LOCALAPPDATA%\Packages\Claude_*\LocalCache\Roaming\Claude\claude_desktop_config.json`,
	}
	return Client{
		Name: "claude-desktop", Title: "Claude Desktop", Aliases: []string{"claude-app"},
		Hello: []string{"claude-ai"},
		Places: []Place{{
			Scope: User, Format: JSON, Tables: tables("mcpServers"),
			Linux:   "$XDG_CONFIG_HOME/Claude/claude_desktop_config.json",
			MacOS:   "~/Library/Application Support/Claude/claude_desktop_config.json",
			Windows: `%APPDATA%\Claude\claude_desktop_config.json`,
		}, store},
		Brings: []Brings{desktopExtensions()},
		Shapes: []Shape{standard()},
		Dir:    DirNone,
		Reload: "Quit Claude Desktop from its menu or its tray icon, and start it again. To close the window is not enough.",
	}
}
