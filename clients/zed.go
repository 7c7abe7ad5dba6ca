package clients

func zed() Client {
	user := Place{
		Scope: User, Format: JSONC, Tables: tables("context_servers"),
		Linux:   "$XDG_CONFIG_HOME/zed/settings.json",
		MacOS:   "~/.config/zed/settings.json",
		Windows: `%APPDATA%\Zed\settings.json`,
	}
	flatpak := Place{Scope: User, Label: "Flatpak", Format: JSONC, Tables: tables("context_servers"), Linux: "$FLATPAK_XDG_CONFIG_HOME/zed/settings.json"}
	shape := standard()
	shape.On = "enabled"
	older := Shape{Within: "command", Command: "path", Args: "args", Env: "env", On: "enabled"}
	return Client{
		Name: "zed", Title: "Zed",
		Hello:  []string{"Zed"},
		Places: []Place{user, flatpak, everywhere(Project, ".zed/settings.json", JSONC, tables("context_servers"))},
		Blind: []Blind{
			{Place: Place{Scope: System, Linux: "$XDG_CONFIG_HOME/zed/global_settings.json", MacOS: "~/.config/zed/global_settings.json", Windows: `%APPDATA%\Zed\global_settings.json`}, Word: "context_servers", Why: whySetting},
			{Place: Place{Scope: User, Linux: "$XDG_DATA_HOME/zed/extensions/installed/*/extension.toml", MacOS: "~/Library/Application Support/Zed/extensions/installed/*/extension.toml", Windows: `%LOCALAPPDATA%\Zed\extensions\installed\*\extension.toml`, Brought: true}, Word: "context_servers", Why: whyPlugin},
		},
		Shapes: []Shape{shape, older},
		Dir:    DirUnknown,
		Reload: "Zed reads its settings again when they are saved, and starts a server anew whose command changed.",
	}
}
