package clients

import "time"

// openCode is the agent OpenCode.
func openCode() Client {
	found := append(tables("mcp"), Table{Path: []string{"mcp", "servers"}})
	var places []Place
	for _, ending := range []string{"jsonc", "json"} {
		places = append(places, Place{
			Scope: User, Format: JSONC, Tables: found,
			Linux: "$XDG_CONFIG_HOME/opencode/opencode." + ending, MacOS: "~/.config/opencode/opencode." + ending, Windows: `~\.config\opencode\opencode.` + ending,
		})
	}
	pointed := everywhere(User, "$OPENCODE_CONFIG", JSONC, found)
	pointed.Label = "OPENCODE_CONFIG"
	places = append(places, pointed)
	for _, dir := range []string{"", ".opencode/"} {
		for _, ending := range []string{"jsonc", "json"} {
			places = append(places, everywhere(Project, dir+"opencode."+ending, JSONC, found))
		}
	}
	return Client{
		Name: "opencode", Title: "OpenCode", Aliases: []string{"open-code"},
		Hello:    []string{"opencode*"},
		Basis:    "trials with 1.18.33 on Linux",
		Places:   places,
		Shapes:   []Shape{listed()},
		Forms:    []Form{named(FromEnv, "{env:", "}"), named(FileText, "{file:", "}")},
		Start:    Patience{30 * time.Second, "`timeout` in the entry, in milliseconds"},
		Dir:      DirProject,
		Hands:    "its whole environment",
		PathKept: true,
		Reload:   "Start a new session. `opencode mcp list` starts every server and says which answered.",
		Quirks: []string{
			"`command` is a list that begins with the program, and the variables are in `environment`.",
			"An entry without `type` makes the whole file invalid.",
			"Version 2 has the servers in `mcp.servers`.",
		},
	}
}
