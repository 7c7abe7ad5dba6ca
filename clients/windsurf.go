package clients

func windsurf() Client {
	shape := standardOff()
	shape.URL = []string{"serverUrl", "url"}
	return Client{
		Name: "windsurf", Title: "Windsurf", Aliases: []string{"codeium"},
		Hello:  []string{"windsurf-client", "windsurf*"},
		Places: []Place{everywhere(User, "~/.codeium/windsurf/mcp_config.json", JSON, tables("mcpServers")), everywhere(User, "~/.codeium/mcp_config.json", JSON, tables("mcpServers")).called("JetBrains plugin")},
		Blind:  coded("~/.windsurf", "~/.windsurf-server"),
		Shapes: []Shape{shape},
		Forms:  []Form{named(FromEnv, "${env:", "}")},
		Dir:    DirUnknown,
		Reload: "Press “Refresh” in the MCP panel of Cascade, or start Windsurf again.",
	}
}
