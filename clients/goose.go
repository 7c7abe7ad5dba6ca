package clients

func goose() Client {
	user := Place{
		Scope: User, Format: YAML, Tables: tables("extensions"),
		Linux:   "$XDG_CONFIG_HOME/goose/config.yaml",
		MacOS:   "~/.config/goose/config.yaml",
		Windows: `%APPDATA%\Block\goose\config\config.yaml`,
		Moves:   []Move{{"GOOSE_PATH_ROOT", "$GOOSE_PATH_ROOT/config/config.yaml"}},
	}
	return Client{
		Name: "goose", Title: "Goose",
		Hello:  []string{"goose*"},
		Places: []Place{user},
		Blind: []Blind{
			{Place: Place{Scope: User, Linux: "$XDG_CONFIG_HOME/goose/recipes/*.yaml", MacOS: "~/.config/goose/recipes/*.yaml", Windows: `%APPDATA%\Block\goose\config\recipes\*.yaml`}, Word: "cmd:", Why: "a recipe can have servers of its own"},
			unread(Project, ".goose/recipes/*.yaml", "cmd:", "a recipe can have servers of its own"),
		},
		Shapes: []Shape{{Command: "cmd", Args: "args", Env: "envs", Names: "env_keys", URL: []string{"uri", "url"}, On: "enabled", Helpers: []string{"code"}}},
		Dir:    DirProject,
		Reload: "Start a new session.",
	}
}
