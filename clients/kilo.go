package clients

import "slices"

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
	places = append(places, everywhere(User, "$KILO_CONFIG", JSONC, tables("mcp")).called("KILO_CONFIG"))
	for _, name := range names {
		own := everywhere(User, "$KILO_CONFIG_DIR/"+name, JSONC, tables("mcp")).called("KILO_CONFIG_DIR")
		places = append(places, own)
		for _, dir := range []string{"", ".kilo/", ".kilocode/"} {
			places = append(places, above(everywhere(Project, dir+name, JSONC, tables("mcp")), InRepository))
			if dir != "" {
				places = append(places, everywhere(User, "~/"+dir+name, JSONC, tables("mcp")))
			}
		}
	}
	places = slices.Concat(places, kiloOlder(), inEditors("older extension", "kilocode.kilo-code/settings/mcp_settings.json"))
	return Client{
		Name: "kilo", Title: "Kilo Code", Aliases: []string{"kilocode"},
		Hello:  []string{"Kilo Code", "kilo*"},
		Places: places,
		Mixed:  true,
		Blind:  managedBlind("kilo", names...),
		AsText: true,
		Shapes: []Shape{listed(), standardOff().in("cwd")},
		Forms:  []Form{named(FromEnv, "{env:", "}"), named(FileText, "{file:", "}")},
		Dir:    DirProject,
		Reload: "Start a new session, or reload the window of the editor.",
	}
}

// kiloOlder returns the files of the older extension, which all versions read: a table, or a file for
// each server.
func kiloOlder() (all []Place) {
	for _, dir := range []string{".kilocode/", ".kilo/"} {
		for _, at := range []struct {
			scope Scope
			dir   string
		}{{User, "~/" + dir}, {Project, dir}} {
			file := everywhere(at.scope, at.dir+"mcp.json", JSON, tables("mcpServers"))
			file.Label = "older extension"
			folder := everywhere(at.scope, at.dir+"mcp/*.json", JSON, nil)
			folder.Label, folder.Single = "older extension", true
			all = append(all, file, folder)
		}
	}
	return all
}
