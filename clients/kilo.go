package clients

// kilo is Kilo Code, whose newer versions share OpenCode's notation.
func kilo() Client {
	var places []Place
	for _, ending := range []string{"jsonc", "json"} {
		p := Place{
			Scope: User, Format: JSONC, Tables: tables("mcp"),
			Linux: "$XDG_CONFIG_HOME/kilo/kilo." + ending, MacOS: "~/.config/kilo/kilo." + ending, Windows: `~\.config\kilo\kilo.` + ending,
		}
		places = append(places, p)
	}
	for _, dir := range []string{"", ".kilo/", ".kilocode/"} {
		for _, ending := range []string{"jsonc", "json"} {
			places = append(places, everywhere(Project, dir+"kilo."+ending, JSONC, tables("mcp")))
		}
	}
	older := everywhere(Project, ".kilocode/mcp.json", JSON, tables("mcpServers"))
	older.Label = "older extension"
	for _, e := range editors() {
		p := e.place(User, "globalStorage/kilocode.kilo-code/settings/mcp_settings.json", JSON, tables("mcpServers"))
		p.Label = joinLabels("older extension", e.label)
		places = append(places, p)
	}
	flat := standardOff()
	flat.Cwd = "cwd"
	return Client{
		Name: "kilo", Title: "Kilo Code", Aliases: []string{"kilocode"},
		Hello:  []string{"Kilo Code", "kilo*"},
		Basis:  "its documentation; not tried",
		Places: append(places, older),
		Shapes: []Shape{listed(), flat},
		Forms:  []Form{named(FromEnv, "{env:", "}"), named(FileText, "{file:", "}")},
		Dir:    DirProject,
		Hands:  "its whole environment",
		Reload: "Start a new session, or reload the window of the editor.",
		Quirks: []string{"`command` is a list that begins with the program. The files of older versions of the extension have `command` and `args` instead."},
	}
}
