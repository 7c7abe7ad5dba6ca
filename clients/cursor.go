package clients

func cursor() Client {
	shape := standard()
	shape.EnvFile = "envFile"
	return Client{
		Name: "cursor", Title: "Cursor", Aliases: []string{"cursor-agent"},
		Hello: []string{"cursor-vscode", "cursor*"},
		Basis: "its documentation; not tried",
		Places: []Place{
			everywhere(User, "~/.cursor/mcp.json", JSONC, tables("mcpServers")),
			everywhere(Project, ".cursor/mcp.json", JSONC, tables("mcpServers")),
		},
		Lookup: Lookup{Read: "its documentation only", Names: OneCounts, Order: "project, user"},
		Brings: cursorPlugins(),
		Blind:  append(coded("~/.cursor", "~/.cursor-server"), unread(User, "~/.cursor/plugins/**/mcp.json", "", whyFolder), unread(User, "~/.cursor/plugins/**/.mcp.json", "", whyFolder)),
		Shapes: []Shape{shape},
		Forms:  []Form{named(FromEnv, "${env:", "}"), fixed(Workspace, "${workspaceFolder}"), fixed(Home, "${userHome}")},
		Dir:    DirUnknown,
		Hands:  "the environment of the editor",
		Reload: "Switch the server off and on under Settings → Tools & MCP, or start Cursor again.",
		Quirks: []string{
			"On some systems it joins the arguments with blanks and has a shell split them again: an argument that contains a blank can fall apart.",
			"`--workspace ${workspaceFolder}` says which project is meant.",
		},
	}
}
