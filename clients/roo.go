package clients

func roo() Client {
	return Client{
		Name: "roo", Title: "Roo Code", Aliases: []string{"roo-cline"},
		Hello:  []string{"Roo Code"},
		Places: append(inEditors("", "rooveterinaryinc.roo-cline/settings/mcp_settings.json"), everywhere(Project, ".roo/mcp.json", JSON, tables("mcpServers"))),
		Shapes: []Shape{standardOff().in("cwd")},
		Forms:  []Form{named(FromEnv, "${env:", "}"), fixed(Workspace, "${workspaceFolder}")},
		Dir:    DirProject,
		Reload: "The extension starts the servers anew when the file is saved.",
	}
}
