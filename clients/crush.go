package clients

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
	workspace.Label = "written by Crush"
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
		Places: []Place{
			user, state,
			above(everywhere(Project, ".crush.json", JSON, tables("mcp")), InRepository),
			above(everywhere(Project, "crush.json", JSON, tables("mcp")), InRepository),
			workspace,
			{Scope: System, Linux: "/etc/crush/crush.json", MacOS: "/etc/crush/crush.json", Format: JSON, Tables: tables("mcp")},
		},
		Mixed:  true,
		Blind:  blind,
		Shared: settingsEnv(user, state, above(everywhere(Project, ".crush.json", JSON, nil), InRepository), above(everywhere(Project, "crush.json", JSON, nil), InRepository), workspace),
		Shapes: []Shape{standardOff()},
		Forms:  []Form{named(CommandText, "$(", ")"), named(FromEnv, "${", "}"), named(FromEnv, "$", "")},
		Dir:    DirProject,
		Reload: "Start it again.",
	}
}
