package clients

import "time"

// qwen is Qwen Code, a relative of Gemini CLI.
func qwen() Client {
	shape := standard()
	shape.Cwd, shape.URL = "cwd", []string{"url", "httpUrl"}
	portable := everywhere(Project, ".mcp.json", JSONC, tables("mcpServers"))
	portable.Label, portable.Note = "portable", "Its servers wait for `qwen mcp approve`."
	return Client{
		Name: "qwen", Title: "Qwen Code",
		Hello: []string{"qwen-code*", "qwen-cli*"},
		Basis: "trials with 0.24.4 on Linux",
		Places: []Place{
			everywhere(User, "~/.qwen/settings.json", JSONC, tables("mcpServers")),
			everywhere(Project, ".qwen/settings.json", JSONC, tables("mcpServers")),
			portable,
		},
		Shapes:   []Shape{shape},
		Forms:    []Form{named(FromEnv, "${", "}"), named(FromEnv, "$", "")},
		Start:    Patience{600 * time.Second, "`timeout` in the entry, in milliseconds; `qwen mcp list` always waits for 10 s"},
		Dir:      DirProject,
		Hands:    "its whole environment",
		PathKept: true, Rewrites: true,
		Allowed: []string{"mcp", "allowed"}, Excluded: []string{"mcp", "excluded"},
		Reload: "Start a new session. `qwen mcp list` starts every server and says which answered.",
		Quirks: []string{
			"A server that `mcp.excluded` names, or `mcp.allowed` does not, is switched off, and is left.",
			"Servers of a project's file start after `qwen mcp approve`.",
			"`qwen mcp add` replaces `$NAME` in all entries by the values, so it writes secrets to the disk.",
			"After a session it only closes the server's input. A server that does not end then stays behind.",
		},
	}
}
