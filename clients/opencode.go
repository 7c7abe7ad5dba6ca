package clients

func openCode() Client {
	found := append(tables("mcp"), Table{Path: []string{"mcp", "servers"}})
	var places []Place
	for _, name := range []string{"opencode.jsonc", "opencode.json", "config.json"} {
		places = append(places, Place{
			Scope: User, Format: JSONC, Tables: found,
			Linux: "$XDG_CONFIG_HOME/opencode/" + name, MacOS: "~/.config/opencode/" + name, Windows: `~\.config\opencode\` + name,
		})
	}
	places = append(places, everywhere(User, "$OPENCODE_CONFIG", JSONC, found).called("OPENCODE_CONFIG"))
	for _, ending := range []string{"jsonc", "json"} {
		own := everywhere(User, "$OPENCODE_CONFIG_DIR/opencode."+ending, JSONC, found).called("OPENCODE_CONFIG_DIR")
		places = append(places, own, everywhere(User, "~/.opencode/opencode."+ending, JSONC, found))
	}
	for _, dir := range []string{"", ".opencode/"} {
		for _, ending := range []string{"jsonc", "json"} {
			places = append(places, above(everywhere(Project, dir+"opencode."+ending, JSONC, found), InRepository))
		}
	}
	return Client{
		Name: "opencode", Title: "OpenCode", Aliases: []string{"open-code"},
		Hello:  []string{"opencode*"},
		Places: places,
		Mixed:  true,
		Blind:  managedBlind("opencode", "opencode.jsonc", "opencode.json"),
		AsText: true,
		ByType: true,
		Shapes: []Shape{listed()},
		Forms:  []Form{named(FromEnv, "{env:", "}"), named(FileText, "{file:", "}")},
		Dir:    DirProject,
		Reload: "Start a new session. `opencode mcp list` starts every server and says which answered.",
	}
}

func managedBlind(program string, names ...string) (all []Blind) {
	for _, name := range names {
		all = append(all, Blind{Word: `"mcp"`, Why: whyRemote, Place: Place{
			Scope: Managed, Linux: "/etc/" + program + "/" + name,
			MacOS: "/Library/Application Support/" + program + "/" + name, Windows: `%ProgramData%\` + program + `\` + name,
		}})
	}
	return all
}
