package clients

import (
	"slices"
	"strings"
)

func jpBlind(user Place) (all []Blind) {
	for _, ending := range []string{"json", "json5", "yaml", "yml"} {
		all = append(all, unread(Project, ".jp/config."+ending, "mcp", "it is no TOML"))
		p := user
		p.Linux, p.MacOS, p.Windows = strings.TrimSuffix(p.Linux, "toml")+ending, strings.TrimSuffix(p.MacOS, "toml")+ending, strings.TrimSuffix(p.Windows, "toml")+ending
		p.Moves = []move{{"JP_GLOBAL_CONFIG_DIR", "$JP_GLOBAL_CONFIG_DIR/config." + ending}}
		all = append(all, Blind{Place: p, Word: "mcp", Why: "it is no TOML"})
	}
	return all
}

func jp() Client {
	found := []Table{{Path: []string{"providers", "mcp"}}, {Path: []string{"providers", "mcp", "value"}}}
	user := Place{
		Scope: User, Format: TOML, Tables: found,
		Linux:   "$XDG_CONFIG_HOME/jp/config.toml",
		MacOS:   "~/Library/Application Support/jp/config.toml",
		Windows: `%APPDATA%\jp\config\config.toml`,
		Moves:   []move{{"JP_GLOBAL_CONFIG_DIR", "$JP_GLOBAL_CONFIG_DIR/config.toml"}},
	}
	return Client{
		Name: "jp", Title: "JP",
		Places: []Place{everywhere(Project, ".jp/config.toml", TOML, found), user},
		Mixed:  true,
		Blind:  jpBlind(user),
		Shapes: []Shape{{Command: "command", Args: "arguments", Names: "variables", Checksum: "checksum"}},
		Dir:    DirProject,
		Reload: "You need not restart it: each query reads the file.",
	}
}

func goose() Client {
	user := Place{
		Scope: User, Format: YAML, Tables: tables("extensions"),
		Linux:   "$XDG_CONFIG_HOME/goose/config.yaml",
		MacOS:   "~/.config/goose/config.yaml",
		Windows: `%APPDATA%\Block\goose\config\config.yaml`,
		Moves:   []move{{"GOOSE_PATH_ROOT", "$GOOSE_PATH_ROOT/config/config.yaml"}},
	}
	return Client{
		Name: "goose", Title: "Goose",
		Places: []Place{user},
		Blind: []Blind{
			{Place: Place{Scope: User, Linux: "$XDG_CONFIG_HOME/goose/recipes/*.yaml", MacOS: "~/.config/goose/recipes/*.yaml", Windows: `%APPDATA%\Block\goose\config\recipes\*.yaml`}, Word: "cmd:", Why: "a recipe can have servers of its own"},
			unread(Project, ".goose/recipes/*.yaml", "cmd:", "a recipe can have servers of its own"),
		},
		Shapes: []Shape{{Command: "cmd", Args: "args", Env: "envs", Names: "env_keys", URL: []string{"uri", "url"}, On: "enabled", Helpers: []string{"code"}}},
		Dir:    DirProject,
		Reload: "Start a new session.",
	}
}

func junie() Client {
	return Client{
		Name: "junie", Title: "Junie", Aliases: []string{"jetbrains-junie"},
		Places: []Place{
			everywhere(User, "~/.junie/mcp/mcp.json", JSON, tables("mcpServers")),
			everywhere(Project, ".junie/mcp/mcp.json", JSON, tables("mcpServers")),
		},
		Shapes: []Shape{standardOff()},
		Dir:    dirUnknown,
		Reload: "Switch the server off and on under Settings → Tools → Junie → MCP Settings, or start the IDE again.",
	}
}

// kilo is Kilo Code, whose newer versions share OpenCode's notation.
func kilo() Client {
	var places []Place
	names := []string{"kilo.jsonc", "kilo.json", "opencode.jsonc", "opencode.json"}
	for _, name := range append(names, "config.json") {
		places = append(places, Place{
			Scope: User, Format: JSONC, Tables: tables("mcp"),
			Linux: "$XDG_CONFIG_HOME/kilo/" + name, MacOS: "~/.config/kilo/" + name, Windows: `~\.config\kilo\` + name,
		})
	}
	places = append(places, everywhere(User, "$KILO_CONFIG", JSONC, tables("mcp")))
	for _, name := range names {
		own := everywhere(User, "$KILO_CONFIG_DIR/"+name, JSONC, tables("mcp"))
		places = append(places, own)
		for _, dir := range []string{"", ".kilo/", ".kilocode/"} {
			places = append(places, above(everywhere(Project, dir+name, JSONC, tables("mcp")), inRepository))
			if dir != "" {
				places = append(places, everywhere(User, "~/"+dir+name, JSONC, tables("mcp")))
			}
		}
	}
	places = slices.Concat(places, kiloOlder(), inEditors("kilocode.kilo-code/settings/mcp_settings.json"))
	return Client{
		Name: "kilo", Title: "Kilo Code", Aliases: []string{"kilocode"},
		Places: places,
		Mixed:  true,
		Blind:  managedBlind("kilo", names...),
		AsText: true,
		Shapes: []Shape{listed(), standardOff().in("cwd")},
		Forms:  []form{named(FromEnv, "{env:", "}"), named(FileText, "{file:", "}")},
		Dir:    DirProject,
		Reload: "Start a new session, or reload the window of the editor.",
	}
}

// kiloOlder returns the files of the older extension, which all versions read: a table, or a file for
// each server.
func kiloOlder() (all []Place) {
	for _, dir := range []string{".kilocode/", ".kilo/"} {
		for _, at := range []struct {
			scope scope
			dir   string
		}{{User, "~/" + dir}, {Project, dir}} {
			file := everywhere(at.scope, at.dir+"mcp.json", JSON, tables("mcpServers"))
			folder := everywhere(at.scope, at.dir+"mcp/*.json", JSON, nil)
			folder.Single = true
			all = append(all, file, folder)
		}
	}
	return all
}

func kiro() Client {
	return Client{
		Name: "kiro", Title: "Kiro", Aliases: []string{"kiro-cli"},
		Places: []Place{
			everywhere(User, "~/.kiro/settings/mcp.json", JSON, append(tables("mcpServers"), Table{Path: []string{"powers", "mcpServers"}})),
			everywhere(Project, ".kiro/settings/mcp.json", JSON, tables("mcpServers")),
			everywhere(User, "~/.kiro/agents/*.json", JSON, tables("mcpServers")),
			everywhere(Project, ".kiro/agents/*.json", JSON, tables("mcpServers")),
		},
		Blind:  []Blind{unread(User, "~/.kiro/powers/installed/*/mcp.json", "command", "a power brings servers of its own")},
		Shapes: []Shape{standardOff()},
		Forms:  []form{named(FromEnv, "${", "}")},
		Dir:    DirProject,
		Reload: "Kiro reads the file again when it is saved.",
	}
}

func lmStudio() Client {
	return Client{
		Name: "lm-studio", Title: "LM Studio", Aliases: []string{"lmstudio"},
		Places: []Place{everywhere(User, "~/.lmstudio/mcp.json", JSON, tables("mcpServers")), everywhere(User, "~/.cache/lm-studio/mcp.json", JSON, tables("mcpServers"))}, // the second of older versions
		Shapes: []Shape{standard()},
		Dir:    dirUnknown,
		Reload: "Save the file in LM Studio (Program → Install → Edit mcp.json), or switch the server off and on.",
	}
}

func openCode() Client {
	found := append(tables("mcp"), Table{Path: []string{"mcp", "servers"}})
	var places []Place
	for _, name := range []string{"opencode.jsonc", "opencode.json", "config.json"} {
		places = append(places, Place{
			Scope: User, Format: JSONC, Tables: found,
			Linux: "$XDG_CONFIG_HOME/opencode/" + name, MacOS: "~/.config/opencode/" + name, Windows: `~\.config\opencode\` + name,
		})
	}
	places = append(places, everywhere(User, "$OPENCODE_CONFIG", JSONC, found))
	for _, ending := range []string{"jsonc", "json"} {
		own := everywhere(User, "$OPENCODE_CONFIG_DIR/opencode."+ending, JSONC, found)
		places = append(places, own, everywhere(User, "~/.opencode/opencode."+ending, JSONC, found))
	}
	for _, dir := range []string{"", ".opencode/"} {
		for _, ending := range []string{"jsonc", "json"} {
			places = append(places, above(everywhere(Project, dir+"opencode."+ending, JSONC, found), inRepository))
		}
	}
	return Client{
		Name: "opencode", Title: "OpenCode", Aliases: []string{"open-code"},
		Places: places,
		Mixed:  true,
		Blind:  managedBlind("opencode", "opencode.jsonc", "opencode.json"),
		AsText: true,
		ByType: true,
		Shapes: []Shape{listed()},
		Forms:  []form{named(FromEnv, "{env:", "}"), named(FileText, "{file:", "}")},
		Dir:    DirProject,
		Reload: "Start a new session. `opencode mcp list` starts every server and says which answered.",
	}
}

func managedBlind(program string, names ...string) (all []Blind) {
	for _, name := range names {
		all = append(all, Blind{Word: `"mcp"`, Why: whyRemote, Place: Place{
			Scope: Managed, Linux: "/etc/" + program + "/" + name,
			MacOS: "/Library/Application Support/" + program + "/" + name, Windows: `%ProgramData%\` + program + `\` + name,
		}})
	}
	return all
}

func qwen() Client {
	shape := standard().in("cwd")
	shape.URL = []string{"url", "httpUrl"}
	user := everywhere(User, "~/.qwen/settings.json", JSONC, tables("mcpServers")).moved("QWEN_HOME", "settings.json")
	project := everywhere(Project, ".qwen/settings.json", JSONC, tables("mcpServers"))
	portable := everywhere(Project, ".mcp.json", JSONC, tables("mcpServers"))
	return Client{
		Name: "qwen", Title: "Qwen Code",
		Places: append(withLine([]string{"mcp", "serverCommand"}, user, project, Place{
			Scope: System, Format: JSONC, Tables: tables("mcpServers"),
			Moves:   []move{{"QWEN_CODE_SYSTEM_SETTINGS_PATH", "$QWEN_CODE_SYSTEM_SETTINGS_PATH"}},
			Linux:   "/etc/qwen-code/settings.json",
			MacOS:   "/Library/Application Support/QwenCode/settings.json",
			Windows: `%ProgramData%\qwen-code\settings.json`,
		}), portable),
		Brings: []brings{geminiExtensions(".qwen", "QWEN_HOME", "", "qwen-extension.json", ".mcp.json")},
		Blind: []Blind{
			{Place: Place{Scope: System, Linux: "/etc/qwen-code/system-defaults.json", MacOS: "/Library/Application Support/QwenCode/system-defaults.json", Windows: `%ProgramData%\qwen-code\system-defaults.json`}, Word: `"mcp`, Why: whyRemote},
			movedBy("QWEN_HOME", "agents/**/*.md", unread(User, "~/.qwen/agents/**/*.md", "mcpServers", whyAgent)),
			unread(Project, ".qwen/agents/**/*.md", "mcpServers", whyAgent),
		},
		Shared: append(dotEnv(".qwen"), settingsEnv(user, project)...),
		Shapes: []Shape{shape},
		Forms:  []form{named(FromEnv, "${", "}"), named(FromEnv, "$", "")},
		Dir:    DirProject,
		Reload: "Start a new session. `qwen mcp list` starts every server and says which answered.",
	}
}

func roo() Client {
	return Client{
		Name: "roo", Title: "Roo Code", Aliases: []string{"roo-cline"},
		Places: append(inEditors("rooveterinaryinc.roo-cline/settings/mcp_settings.json"), everywhere(Project, ".roo/mcp.json", JSON, tables("mcpServers"))),
		Shapes: []Shape{standardOff().in("cwd")},
		Forms:  []form{named(FromEnv, "${env:", "}"), fixed(Workspace, "${workspaceFolder}")},
		Dir:    DirProject,
		Reload: "The extension starts the servers anew when the file is saved.",
	}
}

// vscode is Visual Studio Code with its own agent. Extensions with files of their own are
// clients of their own.
func vscode() Client {
	// Versions before 1.102 take over a table mcpServers.
	places := []Place{everywhere(Project, ".vscode/mcp.json", JSONC, tables("servers", "mcpServers"))}
	for _, e := range editors()[:3] {
		places = append(places, e.place("mcp.json", JSONC, tables("servers")), e.place("profiles/*/mcp.json", JSONC, tables("servers")))
	}
	remote := everywhere(User, "~/.vscode-server/data/User/mcp.json", JSONC, tables("servers"))
	flatpak := Place{Scope: User, Format: JSONC, Tables: tables("servers"), Linux: "~/.var/app/com.visualstudio.code/config/Code/User/mcp.json"}
	portable := everywhere(Project, ".mcp.json", JSONC, tables("mcpServers")).bare() // mcpWorkspaceConfiguration.ts
	shared := everywhere(User, "~/.copilot/mcp-config.json", JSONC, tables("mcpServers")).moved("COPILOT_HOME", "mcp-config.json")
	shape := standard().in("cwd")
	shape.EnvFile, shape.Sandbox, shape.Debug = "envFile", "sandboxEnabled", "dev"
	// mcpResourceScannerService.ts, sanitizeServer: only what is in `config` counts, if that is there.
	older := shape
	older.Within, older.Wins = "config", true
	return Client{
		Name: "vscode", Title: "Visual Studio Code", Aliases: []string{"vs-code", "code", "code-insiders", "vscodium"},
		Places: append(places, remote, flatpak, portable, shared),
		Blind:  vscodeBlind(),
		Shapes: []Shape{older, shape}, ByType: true,
		Forms: []form{
			named(Input, "${input:", "}"), named(FromEnv, "${env:", "}"), named(commandText, "${command:", "}"),
			fixed(Workspace, "${workspaceFolder}"), named(Workspace, "${workspaceFolder:", "}"), fixed(Home, "${userHome}"),
		},
		Dir:   DirOpen,
		Tilde: true,
		Reload: "Run “MCP: List Servers” from the command palette, choose the server, and then “Restart”. " +
			"The line above its entry in `mcp.json` has the same action.",
	}
}

// vscodeBlind returns the settings that can have servers. Older versions have them at the key mcp.
func vscodeBlind() (all []Blind) {
	for _, e := range editors()[:3] {
		all = append(all, Blind{Place: e.place("settings.json", "", nil), Word: `"mcp"`, Why: whySetting})
	}
	for _, file := range []string{".vscode/settings.json", "*.code-workspace", ".devcontainer/devcontainer.json", ".devcontainer.json"} {
		all = append(all, unread(Project, file, `"mcp"`, whySetting))
	}
	return append(all, coded("~/.vscode", "~/.vscode-insiders", "~/.vscode-oss", "~/.vscode-server", "~/.vscode-server-insiders")...)
}

// Providers is the key of an extension's package.json with which it says that its code brings servers.
const Providers = "mcpServerDefinitionProviders"

// coded returns the manifests of extensions whose code starts servers, in the directories of editors.
func coded(dirs ...string) (all []Blind) {
	for _, dir := range dirs {
		all = append(all, unread(User, dir+"/extensions/*/package.json", Providers, whyCode))
	}
	return all
}

// editor is a program that is built from the source of VS Code. Its extensions keep their
// files below its directory.
type editor string

func editors() []editor {
	return []editor{"Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf"}
}

func (e editor) place(file string, format Format, found []Table) Place {
	below := string(e) + "/User/" + file
	return Place{
		Scope: User, Format: format, Tables: found,
		Linux:   "$XDG_CONFIG_HOME/" + below,
		MacOS:   "~/Library/Application Support/" + below,
		Windows: `%APPDATA%\` + windowsSlashes(below),
	}
}

// inEditors returns a file of an extension in each editor.
func inEditors(file string) (all []Place) {
	for _, e := range editors() {
		all = append(all, e.place("globalStorage/"+file, JSON, tables("mcpServers")))
	}
	return all
}

func warp() Client {
	return Client{
		Name: "warp", Title: "Warp",
		Places: []Place{everywhere(User, "~/.warp/.mcp.json", JSON, tables("mcpServers")).bare(), everywhere(Project, ".warp/.mcp.json", JSON, tables("mcpServers")).bare()},
		Shapes: []Shape{standard().in("working_directory")},
		Dir:    dirUnknown,
		Reload: "Stop and start the server on the page of MCP servers in Warp's settings.",
	}
}

func windsurf() Client {
	shape := standardOff()
	shape.URL = []string{"serverUrl", "url"}
	return Client{
		Name: "windsurf", Title: "Windsurf", Aliases: []string{"codeium"},
		Places: []Place{everywhere(User, "~/.codeium/windsurf/mcp_config.json", JSON, tables("mcpServers")), everywhere(User, "~/.codeium/mcp_config.json", JSON, tables("mcpServers"))}, // the second of the plugin for JetBrains
		Blind:  coded("~/.windsurf", "~/.windsurf-server"),
		Shapes: []Shape{shape},
		Forms:  []form{named(FromEnv, "${env:", "}")},
		Dir:    dirUnknown,
		Reload: "Press “Refresh” in the MCP panel of Cascade, or start Windsurf again.",
	}
}

func zed() Client {
	user := Place{
		Scope: User, Format: JSONC, Tables: tables("context_servers"),
		Linux:   "$XDG_CONFIG_HOME/zed/settings.json",
		MacOS:   "~/.config/zed/settings.json",
		Windows: `%APPDATA%\Zed\settings.json`,
	}
	flatpak := Place{Scope: User, Format: JSONC, Tables: tables("context_servers"), Linux: "$FLATPAK_XDG_CONFIG_HOME/zed/settings.json"}
	shape := standard()
	shape.On = "enabled"
	older := Shape{Within: "command", Command: "path", Args: "args", Env: "env", On: "enabled"}
	return Client{
		Name: "zed", Title: "Zed",
		Places: []Place{user, flatpak, everywhere(Project, ".zed/settings.json", JSONC, tables("context_servers"))},
		Blind: []Blind{
			{Place: Place{Scope: System, Linux: "$XDG_CONFIG_HOME/zed/global_settings.json", MacOS: "~/.config/zed/global_settings.json", Windows: `%APPDATA%\Zed\global_settings.json`}, Word: "context_servers", Why: whySetting},
			{Place: Place{Scope: User, Linux: "$XDG_DATA_HOME/zed/extensions/installed/*/extension.toml", MacOS: "~/Library/Application Support/Zed/extensions/installed/*/extension.toml", Windows: `%LOCALAPPDATA%\Zed\extensions\installed\*\extension.toml`}, Word: "context_servers", Why: whyPlugin},
		},
		Shapes: []Shape{shape, older},
		Dir:    dirUnknown,
		Reload: "Zed reads its settings again when they are saved, and starts a server anew whose command changed.",
	}
}

func amp() Client {
	return Client{
		Name: "amp", Title: "Amp",
		Places: []Place{{
			Scope: User, Format: JSONC, Tables: tables("amp.mcpServers"),
			Linux: "~/.config/amp/settings.json", MacOS: "~/.config/amp/settings.json", Windows: `%APPDATA%\amp\settings.json`,
		}},
		Shapes: []Shape{standard()},
		Dir:    dirUnknown,
		Reload: "Start it again.",
	}
}

func factory() Client {
	return Client{
		Name: "factory", Title: "Factory", Aliases: []string{"droid"},
		Places: []Place{everywhere(User, "~/.factory/mcp.json", JSON, tables("mcpServers"))},
		Shapes: []Shape{standardOff()},
		Dir:    dirUnknown,
		Reload: "Start a new session of droid.",
	}
}

func antigravity() Client {
	shape := standardOff()
	shape.URL = []string{"serverUrl"}
	return Client{
		Name: "antigravity", Title: "Antigravity",
		Places: []Place{everywhere(User, "~/.gemini/antigravity/mcp_config.json", JSON, tables("mcpServers")), everywhere(User, "~/.gemini/config/mcp_config.json", JSON, tables("mcpServers"))}, // the second of newer versions
		Shapes: []Shape{shape},
		Dir:    dirUnknown,
		Reload: "Press “Refresh” under Manage MCP Servers, or start Antigravity again.",
	}
}

func augment() Client {
	return Client{
		Name: "augment", Title: "Augment", Aliases: []string{"auggie"},
		Places: []Place{everywhere(User, "~/.augment/settings.json", JSON, tables("mcpServers"))},
		Shapes: []Shape{standard()},
		Dir:    dirUnknown,
		Reload: "Start a new session of auggie.",
	}
}
