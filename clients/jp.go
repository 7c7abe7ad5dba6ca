package clients

import (
	"strings"
)

func jpBlind(user Place) (all []Blind) {
	for _, ending := range []string{"json", "json5", "yaml", "yml"} {
		all = append(all, unread(Project, ".jp/config."+ending, "mcp", "it is no TOML"))
		p := user
		p.Linux, p.MacOS, p.Windows = strings.TrimSuffix(p.Linux, "toml")+ending, strings.TrimSuffix(p.MacOS, "toml")+ending, strings.TrimSuffix(p.Windows, "toml")+ending
		p.Moves = []Move{{"JP_GLOBAL_CONFIG_DIR", "$JP_GLOBAL_CONFIG_DIR/config." + ending}}
		all = append(all, Blind{Place: p, Word: "mcp", Why: "it is no TOML"})
	}
	return all
}

func jp() Client {
	found := []Table{{Path: []string{"providers", "mcp"}}, {Path: []string{"providers", "mcp", "value"}}}
	user := Place{
		Scope: User, Format: TOML, Tables: found,
		Linux:   "$XDG_CONFIG_HOME/jp/config.toml",
		MacOS:   "~/Library/Application Support/jp/config.toml",
		Windows: `%APPDATA%\jp\config\config.toml`,
		Moves:   []Move{{"JP_GLOBAL_CONFIG_DIR", "$JP_GLOBAL_CONFIG_DIR/config.toml"}},
	}
	return Client{
		Name: "jp", Title: "JP",
		Hello:  []string{"jp"},
		Places: []Place{everywhere(Project, ".jp/config.toml", TOML, found), user},
		Mixed:  true,
		Blind:  jpBlind(user),
		Shapes: []Shape{{Command: "command", Args: "arguments", Names: "variables", Checksum: "checksum"}},
		Dir:    DirProject,
		Reload: "Nothing: each query reads the file.",
	}
}
