package clients

import "time"

func gemini() Client {
	user := everywhere(User, "~/.gemini/settings.json", JSONC, tables("mcpServers"))
	user.Moves = []Move{{"GEMINI_CLI_HOME", "$GEMINI_CLI_HOME/.gemini/settings.json"}}
	shape := standard()
	shape.Cwd, shape.URL = "cwd", []string{"url", "httpUrl"}
	return Client{
		Name: "gemini", Title: "Gemini CLI", Aliases: []string{"gemini-cli"},
		Hello: []string{"gemini-cli*"},
		Basis: "trials with 0.61.0 on Linux; the system's file: its documentation",
		Places: withLine([]string{"mcp", "serverCommand"},
			user,
			everywhere(Project, ".gemini/settings.json", JSONC, tables("mcpServers")),
			Place{
				Moves: []Move{{"GEMINI_CLI_SYSTEM_SETTINGS_PATH", "$GEMINI_CLI_SYSTEM_SETTINGS_PATH"}},
				Scope: System, Format: JSONC, Tables: tables("mcpServers"),
				Linux:   "/etc/gemini-cli/settings.json",
				MacOS:   "/Library/Application Support/GeminiCli/settings.json",
				Windows: `%ProgramData%\gemini-cli\settings.json`,
			},
		),
		Lookup: Lookup{
			Read:  "0.61.0: its system calls, its bundle (mergeSettings, findEnvFile), trials with `gemini mcp list`",
			Names: OneCounts, Order: "system, project, user, defaults of the system, extensions",
		},
		Brings: []Brings{geminiExtensions(".gemini", "GEMINI_CLI_HOME", "gemini-extension.json")},
		Blind: []Blind{
			{Place: Place{Scope: System, Linux: "/etc/gemini-cli/system-defaults.json", MacOS: "/Library/Application Support/GeminiCli/system-defaults.json", Windows: `%ProgramData%\gemini-cli\system-defaults.json`}, Word: `"mcp`, Why: whyRemote},
			unread(User, "~/.gemini/agents/*.md", "mcp", whyAgent),
			unread(Project, ".gemini/agents/*.md", "mcp", whyAgent),
		},
		Shared:   dotEnv(".gemini"),
		Shapes:   []Shape{shape},
		Forms:    []Form{named(FromEnv, "${", "}"), named(FromEnv, "$", "")},
		Start:    Patience{600 * time.Second, "`timeout` in the entry, in milliseconds"},
		Dir:      DirProject,
		Hands:    "its environment without names that look like secrets (TOKEN, KEY, AUTH, …); what `env` sets is passed whatever its name is",
		PathKept: true, Rewrites: true,
		Reload: "Start a new session. `gemini mcp list` starts every server and says which answered.",
		Quirks: []string{
			"A text at `mcp.serverCommand` is the command line of a server `mcp`. It is left: write it as an entry of `mcpServers`.",
			"`mcp.allowed` and `mcp.excluded` switch servers off. Other files and flags can switch them on, so `wrap` wraps all.",
			"Comments are accepted; a comma before a closing bracket makes it exit with status 52.",
			"In a folder that is not trusted no server starts, also none of the user's file.",
			"`gemini mcp add` replaces `$NAME` in all entries by the values, so it writes secrets to the disk.",
			"`gemini mcp add` takes the first `--` for itself, so there are two: `gemini mcp add NAME mcp-jail -- run -- COMMAND`.",
			"A key in an entry that it does not know is a warning at each start.",
		},
	}
}
