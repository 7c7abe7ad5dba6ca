package clients

import "time"

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
		Basis:  "its source (extension.rs); not tried",
		Places: []Place{user},
		Lookup: Lookup{Read: "main of November 2026: crates/goose/src/config/base.rs", Names: OneFile},
		Blind: []Blind{
			{Place: Place{Scope: User, Linux: "$XDG_CONFIG_HOME/goose/recipes/*.yaml", MacOS: "~/.config/goose/recipes/*.yaml", Windows: `%APPDATA%\Block\goose\config\recipes\*.yaml`}, Word: "cmd:", Why: "a recipe can have servers of its own"},
			unread(Project, ".goose/recipes/*.yaml", "cmd:", "a recipe can have servers of its own"),
		},
		Shapes: []Shape{{Command: "cmd", Args: "args", Env: "envs", Names: "env_keys", URL: []string{"uri", "url"}, On: "enabled", Helpers: []string{"code"}}},
		Start:  Patience{300 * time.Second, "`timeout` in the entry, in seconds"},
		Dir:    DirProject,
		Hands:  "its whole environment, with a PATH of its own",
		Reload: "Start a new session.", Rewrites: true,
		Quirks: []string{
			"The keys are `cmd`, `args` and `envs`. `env_keys` names variables whose values are in the keyring.",
			"It refuses 31 names in `envs`, among them PATH, TEMP, PYTHONPATH, NODE_OPTIONS and all that begin with LD_ or DYLD_.",
			"Extensions of the types `builtin` and `platform` are a part of Goose, and cannot be wrapped.",
			"It shows what a server that failed to start wrote to its error output.",
		},
	}
}
