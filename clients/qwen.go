package clients

import "time"

func qwen() Client {
	shape := standard()
	shape.Cwd, shape.URL = "cwd", []string{"url", "httpUrl"}
	user := everywhere(User, "~/.qwen/settings.json", JSONC, tables("mcpServers"))
	user.Moves = []Move{{"QWEN_HOME", "$QWEN_HOME/settings.json"}}
	project := everywhere(Project, ".qwen/settings.json", JSONC, tables("mcpServers"))
	portable := everywhere(Project, ".mcp.json", JSONC, tables("mcpServers"))
	portable.Label, portable.Note = "portable", "Its servers wait for `qwen mcp approve`."
	return Client{
		Name: "qwen", Title: "Qwen Code",
		Hello: []string{"qwen-code*", "qwen-cli*"},
		Basis: "trials with 0.24.4 on Linux",
		Places: append(withLine([]string{"mcp", "serverCommand"}, user, project, Place{
			Scope: System, Format: JSONC, Tables: tables("mcpServers"),
			Moves:   []Move{{"QWEN_CODE_SYSTEM_SETTINGS_PATH", "$QWEN_CODE_SYSTEM_SETTINGS_PATH"}},
			Linux:   "/etc/qwen-code/settings.json",
			MacOS:   "/Library/Application Support/QwenCode/settings.json",
			Windows: `%ProgramData%\qwen-code\settings.json`,
		}), portable),
		Lookup: Lookup{
			Read:  "0.24.4: its system calls, its bundle, trials with `qwen mcp list`",
			Names: OneCounts, Order: "system, project, `.mcp.json`, user, extensions",
		},
		Brings: []Brings{geminiExtensions(".qwen", "QWEN_HOME", "qwen-extension.json", ".mcp.json")},
		Blind: []Blind{
			{Place: Place{Scope: System, Linux: "/etc/qwen-code/system-defaults.json", MacOS: "/Library/Application Support/QwenCode/system-defaults.json", Windows: `%ProgramData%\qwen-code\system-defaults.json`}, Word: `"mcp`, Why: whyRemote},
			movedBy("QWEN_HOME", "agents/**/*.md", unread(User, "~/.qwen/agents/**/*.md", "mcpServers", whyAgent)),
			unread(Project, ".qwen/agents/**/*.md", "mcpServers", whyAgent),
		},
		Shared:   append(dotEnv(".qwen"), settingsEnv(user, project)...),
		Shapes:   []Shape{shape},
		Forms:    []Form{named(FromEnv, "${", "}"), named(FromEnv, "$", "")},
		Start:    Patience{600 * time.Second, "`timeout` in the entry, in milliseconds; `qwen mcp list` always waits for 10 s"},
		Dir:      DirProject,
		Hands:    "its whole environment",
		PathKept: true, Rewrites: true,
		Reload: "Start a new session. `qwen mcp list` starts every server and says which answered.",
		Quirks: []string{
			"A text at `mcp.serverCommand` is the command line of a server `mcp`. It is left: write it as an entry of `mcpServers`.",
			"`mcp.allowed` and `mcp.excluded` switch servers off. Other files and flags can switch them on, so `wrap` wraps all.",
			"Servers of a project's file start after `qwen mcp approve`.",
			"`qwen mcp add` replaces `$NAME` in all entries by the values, so it writes secrets to the disk.",
			"After a session it only closes the server's input. A server that does not end then stays behind.",
		},
	}
}
