package clients

import "time"

func roo() Client {
	var places []Place
	for _, e := range editors() {
		places = append(places, e.place("globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json", JSON, tables("mcpServers")))
	}
	shape := standardOff()
	shape.Cwd = "cwd"
	return Client{
		Name: "roo", Title: "Roo Code", Aliases: []string{"roo-cline"},
		Hello:  []string{"Roo Code"},
		Basis:  "its source (McpHub.ts); not tried",
		Places: append(places, everywhere(Project, ".roo/mcp.json", JSON, tables("mcpServers"))),
		Lookup: Lookup{Read: "its last source (McpHub.ts), not read again", Names: AllStart, Order: "project, user"},
		Shapes: []Shape{shape},
		Forms:  []Form{named(FromEnv, "${env:", "}"), fixed(Workspace, "${workspaceFolder}")},
		Start:  Patience{60 * time.Second, "`timeout` in the entry, in seconds"},
		Dir:    DirProject,
		Hands:  "HOME, LOGNAME, PATH, SHELL, TERM, USER (on Windows a list of its own), and what `env` sets",
		Reload: "The extension starts the servers anew when the file is saved.",
		Quirks: []string{
			"Its last release is of May 2026.",
			"A `url` beside a `command` is an error.",
			"On Windows it starts every command with `cmd.exe /c`.",
		},
	}
}
