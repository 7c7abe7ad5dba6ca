package clients

import "time"

func claudeCode() Client {
	user := everywhere(User, "~/.claude.json", JSON, []Table{
		{Path: []string{"mcpServers"}},
		{Path: []string{"projects", Any, "mcpServers"}},
	})
	user.Moves = []Move{{"CLAUDE_CONFIG_DIR", "$CLAUDE_CONFIG_DIR/.claude.json"}}
	user.Note = "It has the servers of the user, and below `projects` those of this user in one project, which `claude mcp add` makes by default."
	former := user
	former.Label, former.Note = "former place", "If it exists, it counts in place of `~/.claude.json`."
	former.Linux, former.MacOS, former.Windows = "~/.claude/.config.json", "~/.claude/.config.json", "~/.claude/.config.json"
	former.Moves = []Move{{"CLAUDE_CONFIG_DIR", "$CLAUDE_CONFIG_DIR/.config.json"}}
	shape := standard()
	shape.Helpers = []string{"headersHelper"}
	project := above(everywhere(Project, ".mcp.json", JSON, tables("mcpServers")), InAll)
	settings := everywhere(User, "~/.claude/settings.json", JSON, nil)
	settings.Moves = []Move{{"CLAUDE_CONFIG_DIR", "$CLAUDE_CONFIG_DIR/settings.json"}}
	return Client{
		Name: "claude-code", Title: "Claude Code", Aliases: []string{"claude-cli"},
		Hello: []string{"claude-code"},
		Basis: "trials with 2.1.330 on Linux; the managed file: its documentation",
		Lookup: Lookup{
			Read:  "2.1.330: its system calls and trials with `claude mcp list` and `claude -p`",
			Names: OneCounts, Order: "managed, the user's for this project, project from the nearest directory up, user, plugins",
		},
		Brings: []Brings{claudePlugins()},
		Blind: []Blind{
			unread(User, "~/.claude/agents/**/*.md", "mcpServers", whyAgent),
			unread(Project, ".claude/agents/**/*.md", "mcpServers", whyAgent),
		},
		Shared: settingsEnv(settings, above(everywhere(Project, ".claude/settings.json", JSON, nil), InRepository),
			above(everywhere(Project, ".claude/settings.local.json", JSON, nil), InRepository)),
		Places: []Place{user, former, project, {
			Scope: Managed, Format: JSON, Tables: tables("mcpServers"),
			Linux:   "/etc/claude-code/managed-mcp.json",
			MacOS:   "/Library/Application Support/ClaudeCode/managed-mcp.json",
			Windows: `%ProgramFiles%\ClaudeCode\managed-mcp.json`,
			Note:    "If it exists, Claude Code ignores the other files.",
		}},
		Shapes:   []Shape{shape},
		ByType:   true,
		Forms:    []Form{named(FromEnv, "${", "}")},
		Start:    Patience{30 * time.Second, "`MCP_TIMEOUT` in its environment, in milliseconds"},
		Dir:      DirProject,
		Hands:    "its whole environment, with its own keys and session tokens",
		PathKept: true, Rewrites: true,
		Reload: "Start a new session. `claude mcp list` starts every server and says which answered.",
		Quirks: []string{
			"A comment in `~/.claude.json` keeps it from starting at all; one in `.mcp.json` costs all servers of the project, and only a diagnostic line says so.",
			"`cwd` and `disabled` in an entry have no effect, nor has `mcpServers` in `settings.json`.",
			"Its approval of a project's server belongs to the name. It does not ask again when the command changes, so a wrapped server needs no new approval.",
			"`${NAME}` and `${NAME:-DEFAULT}` are replaced in the command, the arguments and `env`; that of an unset variable stays as text.",
			"An organisation can allow servers by their exact command line (`allowedMcpServers`). It then refuses a wrapped one.",
			"It ends a server with SIGINT, and with SIGKILL less than a second later.",
		},
	}
}
