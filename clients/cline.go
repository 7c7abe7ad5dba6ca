package clients

import "time"

func cline() Client {
	const file = "cline_mcp_settings.json"
	user := everywhere(User, "~/.cline/data/settings/"+file, JSON, tables("mcpServers"))
	user.Moves = []Move{
		{"CLINE_MCP_SETTINGS_PATH", "$CLINE_MCP_SETTINGS_PATH"},
		{"CLINE_DIR", "$CLINE_DIR/data/settings/" + file},
	}
	user.Note = "The extension, the command line and the JetBrains plugin share it."
	places := []Place{user}
	for _, e := range editors() {
		p := e.place("globalStorage/saoudrizwan.claude-dev/settings/"+file, JSON, tables("mcpServers"))
		p.Label = joinLabels("before 2026", e.label)
		places = append(places, p)
	}
	flat := standardOff()
	flat.Cwd = "cwd"
	nested := flat
	nested.Within = "transport"
	return Client{
		Name: "cline", Title: "Cline",
		Hello:  []string{"Cline"},
		Basis:  "its source (schemas.ts) and trials with its command line 3.0.65 on Linux",
		Places: places,
		Lookup: Lookup{Read: "its source (McpHub.ts, schemas.ts), not read again", Names: OneFile},
		Shapes: []Shape{flat, nested},
		Forms:  []Form{named(FromEnv, "${env:", "}")},
		Start:  Patience{60 * time.Second, "`timeout` in the entry, in seconds"},
		Dir:    DirProject,
		Hands:  "HOME, LOGNAME, PATH, SHELL, TERM, USER and what `env` sets; its command line passes the whole environment",
		Reload: "The extension starts the servers anew when the file is saved. With the command line, start a new session.",
		Quirks: []string{
			"An entry is flat, or has its command in a table `transport`.",
			"The command line replaces no variables; the extension replaces `${env:NAME}`.",
			"The file of older versions is copied to the shared one once, and is not read after that.",
		},
	}
}
