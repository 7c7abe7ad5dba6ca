package clients

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/mcp-jail/mcp-jail/policy/config"
)

// All returns every client, in the order in which they are shown. If a file is a place of
// several clients, the first of them speaks for it. The slice is the caller's own; what the clients
// hold is shared, and never changes.
func All() []Client { return slices.Clone(all()) }

// all makes the clients once: wrap asks for them some ten times a file.
var all = sync.OnceValue(func() []Client {
	return []Client{
		claudeDesktop(), claudeCode(), cursor(), copilot(), vscode(), codex(), gemini(), qwen(),
		windsurf(), zed(), cline(), roo(), kilo(), goose(), lmStudio(), openCode(), kiro(),
		amazonQ(), junie(), continueDev(), warp(), crush(), jp(),
		amp(), factory(), antigravity(), augment(),
	}
})

// Names returns the names of all clients, in the order of All.
func Names() []string {
	var names []string
	for _, c := range all() {
		names = append(names, c.Name)
	}
	return names
}

// UnknownError is the error about a name that no client has.
type UnknownError struct {
	Name string
	Near []string // the names that were perhaps meant
}

func (e *UnknownError) Error() string {
	if len(e.Near) > 0 {
		return fmt.Sprintf("no client is called %q; did you mean %s?", e.Name, strings.Join(e.Near, " or "))
	}
	return fmt.Sprintf("no client is called %q; mcp-jail knows %s; for the file of another client, give the file", e.Name, strings.Join(Names(), ", "))
}

// ByName returns the client with a name. Upper case, blanks and underscores do not matter. The
// error is an *UnknownError.
func ByName(name string) (Client, error) {
	wanted := plain(name)
	for _, c := range all() {
		if c.Name == wanted || plain(c.Title) == wanted || slices.Contains(c.Aliases, wanted) {
			return c, nil
		}
	}
	return Client{}, &UnknownError{Name: name, Near: near(wanted)}
}

// near returns the names of the clients that a word is a part of, or else the one that is spelt most alike.
func near(word string) []string {
	found := slices.DeleteFunc(Names(), func(name string) bool { return len(word) < 2 || !strings.Contains(name, word) })
	if w := config.Suggest(word, Names()); len(found) == 0 && w != "" {
		return []string{w}
	}
	return found
}

// amazonQ is the command line of Amazon Q, which Kiro's replaces.
func amazonQ() Client {
	return Client{
		Name: "amazon-q", Title: "Amazon Q Developer CLI", Aliases: []string{"amazonq", "q"},
		Places: []Place{
			everywhere(User, "~/.aws/amazonq/mcp.json", JSON, tables("mcpServers")),
			everywhere(Project, ".amazonq/mcp.json", JSON, tables("mcpServers")),
			everywhere(User, "~/.aws/amazonq/cli-agents/*.json", JSON, tables("mcpServers")),
			everywhere(Project, ".amazonq/cli-agents/*.json", JSON, tables("mcpServers")),
		},
		Shapes:  []Shape{standardOff()},
		Forms:   []form{named(FromEnv, "${env:", "}"), named(FromEnv, "$", "")},
		Dir:     DirProject,
		OnlyCmd: true,
		Reload:  "Start a new session.",
	}
}

func claudeCode() Client {
	user := everywhere(User, "~/.claude.json", JSON, []Table{
		{Path: []string{"mcpServers"}},
		{Path: []string{"projects", Any, "mcpServers"}},
	})
	user = user.moved("CLAUDE_CONFIG_DIR", ".claude.json")
	former := user
	former.Linux, former.MacOS, former.Windows = "~/.claude/.config.json", "~/.claude/.config.json", "~/.claude/.config.json"
	former.Moves = []move{{"CLAUDE_CONFIG_DIR", "$CLAUDE_CONFIG_DIR/.config.json"}}
	shape := standard()
	shape.Helpers = []string{"headersHelper"}
	project := above(everywhere(Project, ".mcp.json", JSON, tables("mcpServers")), inAll)
	settings := everywhere(User, "~/.claude/settings.json", JSON, nil).moved("CLAUDE_CONFIG_DIR", "settings.json")
	return Client{
		Name: "claude-code", Title: "Claude Code", Aliases: []string{"claude-cli"},
		Brings: []brings{claudePlugins()},
		Blind: []Blind{
			unread(User, "~/.claude/agents/**/*.md", "mcpServers", whyAgent),
			unread(Project, ".claude/agents/**/*.md", "mcpServers", whyAgent),
		},
		Shared: settingsEnv(settings, above(everywhere(Project, ".claude/settings.json", JSON, nil), inRepository),
			above(everywhere(Project, ".claude/settings.local.json", JSON, nil), inRepository)),
		Places: []Place{user, former, project, {
			Scope: Managed, Format: JSON, Tables: tables("mcpServers"),
			Linux:   "/etc/claude-code/managed-mcp.json",
			MacOS:   "/Library/Application Support/ClaudeCode/managed-mcp.json",
			Windows: `%ProgramFiles%\ClaudeCode\managed-mcp.json`,
		}},
		Shapes: []Shape{shape},
		ByType: true,
		Forms:  []form{named(FromEnv, "${", "}")},
		Dir:    DirProject,
		Reload: "Start a new session. `claude mcp list` starts every server and says which answered.",
	}
}

func claudeDesktop() Client {
	store := Place{
		Scope: User, Format: JSON, Tables: tables("mcpServers"),
		Windows: `%LOCALAPPDATA%\Packages\Claude_*\LocalCache\Roaming\Claude\claude_desktop_config.json`,
	}
	return Client{
		Name: "claude-desktop", Title: "Claude Desktop", Aliases: []string{"claude-app"},
		Places: []Place{{
			Scope: User, Format: JSON, Tables: tables("mcpServers"),
			Linux:   "$XDG_CONFIG_HOME/Claude/claude_desktop_config.json",
			MacOS:   "~/Library/Application Support/Claude/claude_desktop_config.json",
			Windows: `%APPDATA%\Claude\claude_desktop_config.json`,
		}, store},
		Brings: []brings{desktopExtensions()},
		Shapes: []Shape{standard()},
		Dir:    DirNone,
		Reload: "Quit Claude Desktop from its menu or its tray icon, and start it again. To close the window is not enough.",
	}
}

func cline() Client {
	const file = "cline_mcp_settings.json"
	user := everywhere(User, "~/.cline/data/settings/"+file, JSON, tables("mcpServers"))
	user.Moves = []move{
		{"CLINE_MCP_SETTINGS_PATH", "$CLINE_MCP_SETTINGS_PATH"},
		{"CLINE_DIR", "$CLINE_DIR/data/settings/" + file},
	}
	nested := standardOff().in("cwd")
	nested.Within = "transport"
	return Client{
		Name: "cline", Title: "Cline",
		Places: append([]Place{user}, inEditors("saoudrizwan.claude-dev/settings/"+file)...), // the latter before 2026
		Shapes: []Shape{standardOff().in("cwd"), nested},
		Forms:  []form{named(FromEnv, "${env:", "}")},
		Dir:    DirProject,
		Reload: "The extension starts the servers anew when the file is saved. With the command line, start a new session.",
	}
}

// codex is OpenAI's command line agent, whose file its applications share.
func codex() Client {
	system := Place{Scope: System, Linux: "/etc/codex/config.toml", MacOS: "/etc/codex/config.toml", Windows: `%ProgramData%\OpenAI\Codex\config.toml`, Format: TOML, Tables: tables("mcp_servers")}
	shape := standard().in("cwd")
	shape.Names, shape.On, shape.Elsewhere = "env_vars", "enabled", "environment_id"
	return Client{
		Name: "codex", Title: "Codex", Aliases: []string{"codex-cli", "openai-codex"},
		Places: []Place{
			everywhere(User, "~/.codex/config.toml", TOML, tables("mcp_servers")).moved("CODEX_HOME", "config.toml"),
			above(everywhere(Project, ".codex/config.toml", TOML, tables("mcp_servers")), inRepository),
			system,
		},
		Mixed:  true,
		Brings: []brings{codexPlugins()},
		Blind: []Blind{
			{Place: Place{Scope: Managed, Linux: "/etc/codex/managed_config.toml", MacOS: "/etc/codex/managed_config.toml"}, Word: "mcp_servers", Why: whyRemote},
			unread(User, "~/.codex/*.config.toml", "mcp_servers", "it counts with --profile only"),
			unread(User, "~/.codex/plugins/**/.mcp.json", "", whyFolder),
			movedBy("CODEX_HOME", "agents/**/*.toml", unread(User, "~/.codex/agents/**/*.toml", "mcp_servers", whyAgent)),
			{Place: above(everywhere(Project, ".codex/agents/**/*.toml", "", nil), inRepository), Word: "mcp_servers", Why: whyAgent},
			movedBy("CODEX_HOME", "config.toml", unread(User, "~/.codex/config.toml", "config_file", whyAgentFile)),
			{Place: above(everywhere(Project, ".codex/config.toml", "", nil), inRepository), Word: "config_file", Why: whyAgentFile},
			movedBy("CODEX_HOME", "config.toml", unread(User, "~/.codex/config.toml", "project_root_markers", "its own servers are read, and files above a repository, which its `project_root_markers` adds, are not")),
		},
		Shapes: []Shape{shape},
		Dir:    DirProject,
		Reload: "Start a new session.",
	}
}

func continueDev() Client {
	list := []Table{{Path: []string{"mcpServers"}, List: true}}
	places := []Place{everywhere(User, "~/.continue/config.yaml", YAML, list)}
	for _, at := range []struct {
		scope scope
		dir   string
	}{{User, "~/.continue/mcpServers/"}, {Project, ".continue/mcpServers/"}} {
		for _, ending := range []string{"yaml", "yml"} {
			places = append(places, everywhere(at.scope, at.dir+"**/*."+ending, YAML, list))
		}
		dropped := everywhere(at.scope, at.dir+"**/*.json", JSONC, append(tables("mcpServers"), Table{Path: []string{"projects", Any, "mcpServers"}}))
		dropped.Single = true // a file of another client
		places = append(places, dropped)
	}
	for _, dir := range []string{"agents", "assistants"} {
		for _, ending := range []string{"yaml", "yml"} {
			for _, at := range []struct {
				scope scope
				dir   string
			}{{User, "~/.continue/"}, {Project, ".continue/"}} {
				places = append(places, everywhere(at.scope, at.dir+dir+"/**/*."+ending, YAML, list))
			}
		}
	}
	return Client{
		Name: "continue", Title: "Continue", Aliases: []string{"cn"},
		Places: places,
		Blind: []Blind{
			unread(User, "~/.continue/config.json", "modelContextProtocolServers", whySetting),
			unread(User, "~/.continue/config.ts", "", "it is a program"),
			unread(Project, ".continuerc.json", "modelContextProtocolServers", whySetting),
			unread(Project, ".continue/agents/**/*.md", "mcpServers", whyAgent),
			unread(Project, ".continue/assistants/**/*.md", "mcpServers", whyAgent),
		},
		Shapes: []Shape{standard().in("cwd")},
		Forms:  []form{named(Secret, "${{ secrets.", "}}"), named(Input, "${{ inputs.", "}}")},
		Dir:    DirProject,
		Reload: "The extension reads its configuration again when it is saved. With the command line, start a new session.",
	}
}

func copilot() Client {
	return Client{
		Name: "copilot", Title: "GitHub Copilot CLI", Aliases: []string{"copilot-cli", "github-copilot"},
		Places: []Place{
			everywhere(User, "~/.copilot/mcp-config.json", JSONC, tables("mcpServers")).moved("COPILOT_HOME", "mcp-config.json"),
			everywhere(Project, ".mcp.json", JSONC, tables("mcpServers")).bare(), everywhere(Project, ".github/mcp.json", JSONC, tables("mcpServers")).bare(),
		},
		Brings: []brings{copilotPlugins()},
		Blind: []Blind{
			unread(User, "~/.copilot/installed-plugins/**/.mcp.json", "", whyFolder),
			unread(User, "~/.copilot/agents/*.md", "mcp-servers", whyAgent),
			unread(Project, ".github/agents/*.md", "mcp-servers", whyAgent),
		},
		Shapes: []Shape{standard().in("cwd")},
		Forms:  []form{named(FromEnv, "${", "}"), named(FromEnv, "$", "")},
		Dir:    DirProject,
		Reload: "Start a new session.",
	}
}

func crush() Client {
	user := Place{
		Scope: User, Format: JSON, Tables: tables("mcp"),
		Linux: "$XDG_CONFIG_HOME/crush/crush.json", MacOS: "$XDG_CONFIG_HOME/crush/crush.json", Windows: `%LOCALAPPDATA%\crush\crush.json`,
		Moves: []move{{"CRUSH_GLOBAL_CONFIG", "$CRUSH_GLOBAL_CONFIG/crush.json"}},
	}
	state := Place{
		Scope: User, Format: JSON, Tables: tables("mcp"),
		Linux: "$XDG_DATA_HOME/crush/crush.json", MacOS: "$XDG_DATA_HOME/crush/crush.json", Windows: `%LOCALAPPDATA%\crush\crush.json`,
		Moves: []move{{"CRUSH_GLOBAL_DATA", "$CRUSH_GLOBAL_DATA/crush.json"}},
	}
	workspace := above(everywhere(Project, ".crush/crush.json", JSON, tables("mcp")), inRepository)
	script := unread(User, "~/.config/crush/crushrc", "mcp", "it is a shell script")
	script.Place.Linux, script.Place.MacOS = "$XDG_CONFIG_HOME/crush/crushrc", "$XDG_CONFIG_HOME/crush/crushrc"
	blind := []Blind{script}
	for _, name := range []string{"crushrc", ".crushrc"} {
		b := unread(Project, name, "mcp", "it is a shell script")
		b.Place.Above = inRepository
		blind = append(blind, b)
	}
	return Client{
		Name: "crush", Title: "Crush",
		Places: []Place{
			user, state,
			above(everywhere(Project, ".crush.json", JSON, tables("mcp")), inRepository),
			above(everywhere(Project, "crush.json", JSON, tables("mcp")), inRepository),
			workspace,
			{Scope: System, Linux: "/etc/crush/crush.json", MacOS: "/etc/crush/crush.json", Format: JSON, Tables: tables("mcp")},
		},
		Mixed:  true,
		Blind:  blind,
		Shared: settingsEnv(user, state, above(everywhere(Project, ".crush.json", JSON, nil), inRepository), above(everywhere(Project, "crush.json", JSON, nil), inRepository), workspace),
		Shapes: []Shape{standardOff()},
		Forms:  []form{named(commandText, "$(", ")"), named(FromEnv, "${", "}"), named(FromEnv, "$", "")},
		Dir:    DirProject,
		Reload: "Start it again.",
	}
}

func cursor() Client {
	shape := standard()
	shape.EnvFile = "envFile"
	return Client{
		Name: "cursor", Title: "Cursor", Aliases: []string{"cursor-agent"},
		Places: []Place{
			everywhere(User, "~/.cursor/mcp.json", JSONC, tables("mcpServers")),
			everywhere(Project, ".cursor/mcp.json", JSONC, tables("mcpServers")),
		},
		Brings: cursorPlugins(),
		Blind:  append(coded("~/.cursor", "~/.cursor-server"), unread(User, "~/.cursor/plugins/**/mcp.json", "", whyFolder), unread(User, "~/.cursor/plugins/**/.mcp.json", "", whyFolder)),
		Shapes: []Shape{shape},
		Forms:  []form{named(FromEnv, "${env:", "}"), fixed(Workspace, "${workspaceFolder}"), fixed(Home, "${userHome}")},
		Dir:    dirUnknown,
		Reload: "Switch the server off and on under Settings → Tools & MCP, or start Cursor again.",
	}
}

func gemini() Client {
	shape := standard().in("cwd")
	shape.URL = []string{"url", "httpUrl"}
	return Client{
		Name: "gemini", Title: "Gemini CLI", Aliases: []string{"gemini-cli"},
		Places: withLine([]string{"mcp", "serverCommand"},
			everywhere(User, "~/.gemini/settings.json", JSONC, tables("mcpServers")).moved("GEMINI_CLI_HOME", ".gemini/settings.json"),
			everywhere(Project, ".gemini/settings.json", JSONC, tables("mcpServers")),
			Place{
				Moves: []move{{"GEMINI_CLI_SYSTEM_SETTINGS_PATH", "$GEMINI_CLI_SYSTEM_SETTINGS_PATH"}},
				Scope: System, Format: JSONC, Tables: tables("mcpServers"),
				Linux:   "/etc/gemini-cli/settings.json",
				MacOS:   "/Library/Application Support/GeminiCli/settings.json",
				Windows: `%ProgramData%\gemini-cli\settings.json`,
			},
		),
		Brings: []brings{geminiExtensions(".gemini", "GEMINI_CLI_HOME", ".gemini/", "gemini-extension.json")},
		Blind: []Blind{
			{Place: Place{Scope: System, Linux: "/etc/gemini-cli/system-defaults.json", MacOS: "/Library/Application Support/GeminiCli/system-defaults.json", Windows: `%ProgramData%\gemini-cli\system-defaults.json`}, Word: `"mcp`, Why: whyRemote},
			unread(User, "~/.gemini/agents/*.md", "mcp", whyAgent),
			unread(Project, ".gemini/agents/*.md", "mcp", whyAgent),
		},
		Shared: dotEnv(".gemini"),
		Shapes: []Shape{shape},
		Forms:  []form{named(FromEnv, "${", "}"), named(FromEnv, "$", "")},
		Dir:    DirProject,
		Reload: "Start a new session. `gemini mcp list` starts every server and says which answered.",
	}
}
