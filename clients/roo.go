package clients

func roo() Client {
	var places []Place
	for _, e := range editors() {
		places = append(places, e.place("globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json", JSON, tables("mcpServers")))
	}
	return Client{
		Name: "roo", Title: "Roo Code", Aliases: []string{"roo-cline"},
		Hello:  []string{"Roo Code"},
		Places: append(places, everywhere(Project, ".roo/mcp.json", JSON, tables("mcpServers"))),
		Shapes: []Shape{standardOff().in("cwd")},
		Forms:  []Form{named(FromEnv, "${env:", "}"), fixed(Workspace, "${workspaceFolder}")},
		Dir:    DirProject,
		Reload: "The extension starts the servers anew when the file is saved.",
	}
}
