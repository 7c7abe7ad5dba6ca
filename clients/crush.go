package clients

import "time"

func crush() Client {
	user := Place{
		Scope: User, Format: JSON, Tables: tables("mcp"),
		Linux: "$XDG_CONFIG_HOME/crush/crush.json", MacOS: "$XDG_CONFIG_HOME/crush/crush.json", Windows: `%LOCALAPPDATA%\crush\crush.json`,
		Moves: []Move{{"CRUSH_GLOBAL_CONFIG", "$CRUSH_GLOBAL_CONFIG/crush.json"}},
	}
	state := Place{
		Scope: User, Label: "written by Crush", Format: JSON, Tables: tables("mcp"),
		Linux: "$XDG_DATA_HOME/crush/crush.json", MacOS: "$XDG_DATA_HOME/crush/crush.json", Windows: `%LOCALAPPDATA%\crush\crush.json`,
		Moves: []Move{{"CRUSH_GLOBAL_DATA", "$CRUSH_GLOBAL_DATA/crush.json"}},
	}
	workspace := above(everywhere(Project, ".crush/crush.json", JSON, tables("mcp")), InRepository)
	workspace.Label, workspace.Note = "written by Crush", "Read last: it counts more than all other files."
	script := unread(User, "~/.config/crush/crushrc", "mcp", "it is a shell script")
	script.Place.Linux, script.Place.MacOS = "$XDG_CONFIG_HOME/crush/crushrc", "$XDG_CONFIG_HOME/crush/crushrc"
	blind := []Blind{script}
	for _, name := range []string{"crushrc", ".crushrc"} {
		b := unread(Project, name, "mcp", "it is a shell script")
		b.Place.Above = InRepository
		blind = append(blind, b)
	}
	return Client{
		Name: "crush", Title: "Crush",
		Hello: []string{"crush"},
		Basis: "its source (internal/config); not tried",
		Places: []Place{
			user, state,
			above(everywhere(Project, ".crush.json", JSON, tables("mcp")), InRepository),
			above(everywhere(Project, "crush.json", JSON, tables("mcp")), InRepository),
			workspace,
			{Scope: System, Linux: "/etc/crush/crush.json", MacOS: "/etc/crush/crush.json", Format: JSON, Tables: tables("mcp")},
		},
		Lookup: Lookup{
			Read:  "internal/config/load.go, the newest as a relative of it has it",
			Names: Mixed, Order: "`.crush`, project from the nearest directory up (`crushrc` before `crush.json`), written by Crush, user",
		},
		Blind:    blind,
		Shared:   settingsEnv(user, state, above(everywhere(Project, ".crush.json", JSON, nil), InRepository), above(everywhere(Project, "crush.json", JSON, nil), InRepository), workspace),
		Shapes:   []Shape{standardOff()},
		Forms:    []Form{named(CommandText, "$(", ")"), named(FromEnv, "${", "}"), named(FromEnv, "$", "")},
		Start:    Patience{10 * time.Second, "`timeout` in the entry, in seconds"},
		Dir:      DirProject,
		Hands:    "its whole environment",
		PathKept: true,
		Reload:   "Start it again.",
		Quirks: []string{
			"Since 2026 its configuration is a shell script, `crushrc` or `.crushrc`, with lines such as `mcp add NAME --command … --args …`. " +
				"`wrap` changes no scripts: write mcp-jail there by hand, or keep the server in `crush.json`, which is still read.",
			"Files of a project count from its directory up to the root of the repository.",
			"It gives up after 10 seconds. Install a package before its first start, with `mcp-jail install`.",
			"It runs values through a full shell expansion, also `$(command)`.",
		},
	}
}
