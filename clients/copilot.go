package clients

func copilot() Client {
	user := everywhere(User, "~/.copilot/mcp-config.json", JSONC, tables("mcpServers"))
	user.Moves = []Move{{"COPILOT_HOME", "$COPILOT_HOME/mcp-config.json"}}
	project := everywhere(Project, ".mcp.json", JSONC, tables("mcpServers"))
	project.Bare = true
	github := everywhere(Project, ".github/mcp.json", JSONC, tables("mcpServers"))
	github.Bare, github.Note = true, "Read where there is no `.mcp.json`."
	shape := standard()
	shape.Cwd = "cwd"
	return Client{
		Name: "copilot", Title: "GitHub Copilot CLI", Aliases: []string{"copilot-cli", "github-copilot"},
		Hello:  []string{"github-copilot-developer", "copilot*"},
		Basis:  "trials with 1.0.102 on Linux; bare project files: its documentation",
		Places: []Place{user, project, github},
		Lookup: Lookup{Read: "its documentation (“MCP server loading priority”)", Names: OneCounts, Order: "project, user, plugins"},
		Brings: []Brings{copilotPlugins()},
		Blind: []Blind{
			unread(User, "~/.copilot/installed-plugins/**/.mcp.json", "", whyFolder),
			unread(User, "~/.copilot/agents/*.md", "mcp-servers", whyAgent),
			unread(Project, ".github/agents/*.md", "mcp-servers", whyAgent),
		},
		Shapes:   []Shape{shape},
		Forms:    []Form{named(FromEnv, "${", "}"), named(FromEnv, "$", "")},
		Dir:      DirProject,
		Hands:    "its whole environment, without the key and address of its own provider",
		PathKept: true, Rewrites: true,
		Reload: "Start a new session.",
		Quirks: []string{
			"It accepts comments and trailing commas, and drops the comments when it rewrites the file on `mcp add`.",
			"The type of a program is `local` or `stdio`. `tools` lists the tools that it may use.",
			"It ends a server with SIGTERM and SIGKILL almost at once.",
		},
	}
}
