package clients

import (
	"strings"
	"time"
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
		Hello:    []string{"jp"},
		Basis:    "its source (jp_config/src/providers/mcp.rs) and its documentation; not tried",
		Places:   []Place{everywhere(Project, ".jp/config.toml", TOML, found), user},
		Lookup:   Lookup{Read: "main of November 2026: crates/jp_config (fs.rs, providers.rs, internal/merge/map.rs)", Names: Mixed, Order: "flags, project, user"},
		Blind:    jpBlind(user),
		Shapes:   []Shape{{Command: "command", Args: "arguments", Names: "variables", Checksum: "checksum"}},
		Start:    Patience{60 * time.Second, "`startup_timeout_secs` in the entry; 0 waits for ever"},
		Dir:      DirProject,
		Hands:    "its whole environment",
		PathKept: true,
		Reload:   "Nothing: each query reads the file.",
		Quirks: []string{
			"The keys are `arguments`, and `variables` for the names that are passed; an entry has no values.",
			"A `checksum` is that of the program at `command`. It would not match mcp-jail, so an entry with one is left.",
			"It replaces no variables in an entry.",
			"`providers.mcp` can be a table with a `strategy`, which has the servers at `value`.",
			"Its file can be YAML or JSON too; `wrap` looks for the TOML file.",
		},
	}
}
