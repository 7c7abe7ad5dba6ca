package clients

func claudeDesktop() Client {
	store := Place{
		Scope: User, Label: "Microsoft Store", Format: JSON, Tables: tables("mcpServers"),
		Windows: `%LOCALAPPDATA%\Packages\Claude_*\LocalCache\Roaming\Claude\claude_desktop_config.json`,
		Note:    "The build from the Microsoft Store reads this copy, and not the file below `%APPDATA%`.",
	}
	return Client{
		Name: "claude-desktop", Title: "Claude Desktop", Aliases: []string{"claude-app"},
		Hello: []string{"claude-ai"},
		Basis: "its documentation; not tried",
		Places: []Place{{
			Scope: User, Format: JSON, Tables: tables("mcpServers"),
			Linux:   "$XDG_CONFIG_HOME/Claude/claude_desktop_config.json",
			MacOS:   "~/Library/Application Support/Claude/claude_desktop_config.json",
			Windows: `%APPDATA%\Claude\claude_desktop_config.json`,
		}, store},
		Lookup: Lookup{Read: "its documentation only", Names: OneFile},
		Brings: []Brings{desktopExtensions()},
		Shapes: []Shape{standard()},
		Dir:    DirNone,
		Hands:  "a short environment of its own, and what the entry sets",
		Reload: "Quit Claude Desktop from its menu or its tray icon, and start it again. To close the window is not enough.",
		Quirks: []string{
			"A file with an error is ignored without a message, and with it all servers.",
			"It starts servers with a short PATH and often with `/` as their directory: write absolute paths, and say with `--workspace` which directory is meant.",
			"Older files have a whole command line in `command`, or a path with blanks. `wrap` keeps it as one word.",
		},
	}
}
