package clients

// vscode is Visual Studio Code with its own agent. Extensions with files of their own are
// clients of their own.
func vscode() Client {
	// Versions before 1.102 take over a table mcpServers.
	places := []Place{everywhere(Project, ".vscode/mcp.json", JSONC, tables("servers", "mcpServers"))}
	for _, e := range editors()[:3] {
		p := e.place("mcp.json", JSONC, tables("servers"))
		places = append(places, p)
		p = e.place("profiles/*/mcp.json", JSONC, tables("servers"))
		p.Label = joinLabels(e.label, "profiles")
		places = append(places, p)
	}
	remote := everywhere(User, "~/.vscode-server/data/User/mcp.json", JSONC, tables("servers")).called("remote")
	flatpak := Place{Scope: User, Label: "Flatpak", Format: JSONC, Tables: tables("servers"), Linux: "~/.var/app/com.visualstudio.code/config/Code/User/mcp.json"}
	portable := everywhere(Project, ".mcp.json", JSONC, tables("mcpServers")).called("portable").bare() // mcpWorkspaceConfiguration.ts
	shared := everywhere(User, "~/.copilot/mcp-config.json", JSONC, tables("mcpServers")).moved("COPILOT_HOME", "mcp-config.json").called("portable")
	shape := standard().in("cwd")
	shape.EnvFile, shape.Sandbox, shape.Debug = "envFile", "sandboxEnabled", "dev"
	// mcpResourceScannerService.ts, sanitizeServer: only what is in `config` counts, if that is there.
	older := shape
	older.Within, older.Wins = "config", true
	return Client{
		Name: "vscode", Title: "Visual Studio Code", Aliases: []string{"vs-code", "code", "code-insiders", "vscodium"},
		Hello:  []string{"Visual Studio Code*"},
		Places: append(places, remote, flatpak, portable, shared),
		Blind:  vscodeBlind(),
		Shapes: []Shape{older, shape}, ByType: true,
		Forms: []Form{
			named(Input, "${input:", "}"), named(FromEnv, "${env:", "}"), named(CommandText, "${command:", "}"),
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
type editor struct{ label, dir string }

func editors() []editor {
	return []editor{{"", "Code"}, {"Insiders", "Code - Insiders"}, {"VSCodium", "VSCodium"}, {"Cursor", "Cursor"}, {"Windsurf", "Windsurf"}}
}

func (e editor) place(file string, format Format, found []Table) Place {
	below := e.dir + "/User/" + file
	return Place{
		Scope: User, Label: e.label, Format: format, Tables: found,
		Linux:   "$XDG_CONFIG_HOME/" + below,
		MacOS:   "~/Library/Application Support/" + below,
		Windows: `%APPDATA%\` + windowsSlashes(below),
	}
}

// inEditors returns a file of an extension in each editor.
func inEditors(label, file string) (all []Place) {
	for _, e := range editors() {
		all = append(all, e.place("globalStorage/"+file, JSON, tables("mcpServers")).called(joinLabels(label, e.label)))
	}
	return all
}
